/** The plain calls about idempotent work over HTTP: an attempt lives by its lease alone, which is counted here. */

import { ATTEMPT_HEADER, ATTEMPT_NUMBER_HEADER } from "../protocol/headers.ts";
import { HTTP_TIMEOUT_MAX_MS } from "../protocol/limits.ts";
import { Attempts, type AttemptsSettings } from "./attempts.ts";
import { keyPath, requestId } from "./http-path.ts";
import {
  ANSWER_MS,
  type HttpAnswer,
  type HttpRequest,
  type HttpRequests,
  isTransient,
  OVERRUN_MS,
} from "./http-request.ts";
import type { AttemptExtension, BeginOptions, Begun, IdempotencyCalls } from "./idempotency-calls.ts";
import { AttemptLostError, IdempotencyInProgressError } from "./idempotency-errors.ts";
import { leaseUntil, marginMs } from "./lease.ts";
import { bytesOf } from "./result.ts";

export interface HttpIdempotencySettings extends Omit<AttemptsSettings, "extend"> {
  readonly requests: HttpRequests;
}

export class HttpIdempotency implements IdempotencyCalls {
  readonly #settings: HttpIdempotencySettings;
  readonly #attempts: Attempts;

  constructor(settings: HttpIdempotencySettings) {
    this.#settings = settings;
    this.#attempts = new Attempts({
      ...settings,
      extend: async (key, attempt, lease, signal) => {
        const { body } = await this.#post(key, "extend", { body: { attempt, lease }, signal });
        const told = body as unknown as { readonly lease: number; readonly expires_in: number };
        return { lease: told.lease, expiresIn: told.expires_in };
      },
    });
  }

  /** One begin after another, each with an id of its own that all its repeats bear, until one is decided or the time is over. */
  async begin(key: string, { timeout = 0, signal, renew = false, ...asked }: BeginOptions = {}): Promise<Begun> {
    const { now } = this.#settings;
    signal?.throwIfAborted();
    const giveUpAt = now() + timeout;
    const until = giveUpAt + (timeout === 0 ? ANSWER_MS : OVERRUN_MS);
    for (;;) {
      const wait = Math.ceil(Math.min(Math.max(0, giveUpAt - now()), HTTP_TIMEOUT_MAX_MS));
      const body = { ...asked, timeout: wait, request_id: requestId() };
      const late = (answer: HttpAnswer): void => this.#letGo(key, answer);
      const request: HttpRequest = { ...this.#request(key, "begin"), body, until, signal, late, takesBytes: true };
      try {
        return this.#begun(key, await this.#proven(request), renew);
      } catch (error) {
        // As in a session: whatever kept the answer away, the time is over.
        if (timeout > 0 && isTransient(error)) throw new IdempotencyInProgressError(key, 0);
        if (!(error instanceof IdempotencyInProgressError) || now() >= giveUpAt) throw error;
      }
    }
  }

  async complete(key: string, attempt: string, result: Uint8Array | string, contentType?: string): Promise<void> {
    const type = contentType ?? (typeof result === "string" ? "application/json" : "application/octet-stream");
    const payload = { bytes: bytesOf(result), headers: { "content-type": type, [ATTEMPT_HEADER]: attempt } };
    await this.#attempts.ending(attempt, () => this.#post(key, "complete", { payload }));
  }

  async fail(key: string, attempt: string): Promise<void> {
    await this.#attempts.ending(attempt, () => this.#post(key, "fail", { body: { attempt } }));
  }

  extend(key: string, attempt: string, lease: number): Promise<AttemptExtension> {
    return this.#attempts.extend(key, attempt, lease);
  }

  async forget(key: string, attempt?: string): Promise<boolean> {
    const request = { method: "DELETE", path: keyPath("idempotency", key), key } as const;
    const payload = attempt === undefined ? undefined : { headers: { [ATTEMPT_HEADER]: attempt } };
    const ask = (): Promise<HttpAnswer> => this.#ask({ ...request, ...(payload && { payload }) });
    const { body } = await (attempt === undefined ? ask() : this.#attempts.ending(attempt, ask));
    return body["existed"] === true;
  }

  /** After a wait too little of the lease may be proven: the same request once more is the same begin, sent now. */
  async #proven(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.#settings.requests.ask(request);
    if (answer.bytes !== undefined) return answer;
    const { expires_in: expiresInMs } = answer.body as unknown as StartedTold;
    if (answer.receivedAt - answer.sentAt <= marginMs(expiresInMs)) return answer;
    try {
      return await this.#settings.requests.ask({ ...request, until: this.#settings.now() + expiresInMs });
    } catch (error) {
      this.#letGo(request.key, answer);
      throw error;
    }
  }

  #begun(key: string, { body, bytes, headers, sentAt }: HttpAnswer, renew: boolean): Begun {
    if (bytes !== undefined) {
      const number = Number(headers.get(ATTEMPT_NUMBER_HEADER) ?? 1);
      return { status: "replay", result: bytes, contentType: headers.get("content-type") ?? "", number };
    }
    const { attempt, number, lease, expires_in: expiresIn } = body as unknown as StartedTold;
    const until = leaseUntil(sentAt, expiresIn);
    if (until > this.#settings.now()) {
      return this.#attempts.started({ key, attempt, number, lease, expiresIn, until }, renew);
    }
    // It took so long to arrive that nothing is left of it. Nobody must take it for an attempt.
    this.#fail(key, attempt);
    throw new AttemptLostError(key, "expired");
  }

  /** A start that nobody waits for any more. */
  #letGo(key: string, { body }: HttpAnswer): void {
    if (body["status"] === "started") this.#fail(key, String(body["attempt"]));
  }

  #fail(key: string, attempt: string): void {
    this.fail(key, attempt).catch((error: unknown) => {
      if (!(error instanceof AttemptLostError)) this.#settings.onError(error, { where: "fail" });
    });
  }

  #post(key: string, verb: string, rest: Pick<HttpRequest, "body" | "payload" | "signal">): Promise<HttpAnswer> {
    return this.#ask({ ...this.#request(key, verb), ...rest });
  }

  #request(key: string, verb: string): Pick<HttpRequest, "method" | "path" | "key"> {
    return { method: "POST", path: `${keyPath("idempotency", key)}/${verb}`, key };
  }

  #ask(request: Omit<HttpRequest, "until">): Promise<HttpAnswer> {
    return this.#settings.requests.ask({ ...request, until: this.#settings.now() + ANSWER_MS });
  }
}

interface StartedTold {
  readonly attempt: string;
  readonly number: number;
  readonly lease: number;
  readonly expires_in: number;
}
