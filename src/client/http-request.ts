/** One request to the HTTP API, sent as often as it takes: requests carry an id, so that a repeat is the same request. */

import { backoffMs } from "./backoff.ts";
import { pause, type Ports } from "./clock.ts";
import { type Refusal, SessionClosedError, UnavailableError } from "./errors.ts";
import { workErrorOf } from "./idempotency-errors.ts";
import type { OnError } from "./locks.ts";
import type { Auth } from "./session-socket.ts";
import { addressOf } from "./url.ts";

const SILENCE = "there was no answer in time";

/** How long anything but a wait may be without an answer, repeats included, ms. */
export const ANSWER_MS = 10_000;

/** How long after the timeout of a wait its answer may still arrive, ms. */
export const OVERRUN_MS = 2_000;

/** The longest delay that timers can count, ms. */
const TIMER_MAX_MS = 2 ** 31 - 1;

const CODES: Readonly<Record<number, string>> = { 401: "unauthenticated", 403: "forbidden", 429: "limit" };

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Under `/v1`, already encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: Readonly<Record<string, unknown>>;
  /** What is not JSON, and headers that go along. */
  readonly payload?: { readonly bytes?: Uint8Array; readonly headers: Readonly<Record<string, string>> } | undefined;
  /** An answer 200 is somebody's bytes, others are JSON. */
  readonly takesBytes?: boolean;
  /** For messages. */
  readonly key: string;
  /** No answer is waited for after this. */
  readonly until: number;
  readonly signal?: AbortSignal | undefined;
  /** Gets the answer that arrived after all, when nobody waited for it any more. */
  readonly late?: (answer: HttpAnswer) => void;
}

export interface HttpAnswer {
  readonly body: Readonly<Record<string, unknown>>;
  /** Set in the place of a body: see `takesBytes`. */
  readonly bytes?: Uint8Array;
  readonly headers: Headers;
  /** When the request that was answered left, and when the answer began to arrive. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

export interface HttpSettings {
  readonly url: string;
  readonly space: string | undefined;
  readonly auth: Auth | undefined;
  readonly fetch: Fetch;
  readonly onError: OnError;
}

export class HttpRequests {
  readonly #settings: HttpSettings;
  readonly #ports: Ports;
  readonly #now: () => number;

  constructor(settings: HttpSettings, ports: Ports, now: () => number) {
    // An address that is none must be told at once.
    addressOf(settings.url, "http", "");
    this.#settings = settings;
    this.#ports = ports;
    this.#now = now;
  }

  /** Rejects with the reason of the signal, with what the server says, or with `UnavailableError` when `until` has come. */
  async ask(request: HttpRequest): Promise<HttpAnswer> {
    for (let failures = 0; ; failures++) {
      try {
        return await this.#once(request);
      } catch (error) {
        // Whichever way this runtime's fetch says that it was aborted.
        request.signal?.throwIfAborted();
        if (!isTransient(error)) throw error;
        const delayMs = error.retryAfterMs ?? backoffMs(failures, this.#ports.random());
        if (this.#now() + delayMs >= request.until) throw error;
        this.#settings.onError(error, { where: "http" });
        await pause(this.#ports, delayMs, request.signal);
      }
    }
  }

  #once(request: HttpRequest): Promise<HttpAnswer> {
    const { signal, until, late } = request;
    const stopped = new AbortController();
    return new Promise((resolve, reject) => {
      const stop = (reason: Error): void => {
        settle();
        reject(reason);
        stopped.abort(reason);
      };
      const onAbort = (): void => stop(signal?.reason as Error);
      const leftMs = Math.max(0, Math.min(until - this.#now(), TIMER_MAX_MS));
      const cancelTimer = this.#ports.timer(leftMs, () => stop(new UnavailableError("unavailable", SILENCE)));
      const settle = (): void => {
        cancelTimer();
        signal?.removeEventListener("abort", onAbort);
      };
      if (signal?.aborted === true) return onAbort();
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#exchange(request, stopped.signal).then(
        (answer) => {
          settle();
          if (stopped.signal.aborted) late?.(answer);
          else resolve(answer);
        },
        (error: Error) => {
          settle();
          reject(error);
        },
      );
    });
  }

  async #exchange(request: HttpRequest, stopped: AbortSignal): Promise<HttpAnswer> {
    const { url, fetch } = this.#settings;
    const { method, path, query = {}, body, payload, key } = request;
    const address = addressOf(url, "http", `/v1${path}`);
    for (const [name, value] of Object.entries({ space: this.#settings.space, ...query })) {
      if (value !== undefined) address.searchParams.set(name, value);
    }
    const connection = new AbortController();
    const hangUp = (): void => connection.abort(stopped.reason);
    stopped.addEventListener("abort", hangUp, { once: true });
    let sentAt: number;
    let receivedAt: number;
    let response: Response;
    let bytes: Uint8Array;
    try {
      const headers = { ...(await this.#headers()), ...payload?.headers };
      sentAt = this.#now();
      const sent = body === undefined ? (payload?.bytes as Uint8Array<ArrayBuffer> | undefined) : JSON.stringify(body);
      const init = { method, headers, signal: connection.signal, ...(sent !== undefined && { body: sent }) };
      response = await fetch(address.href, init);
      receivedAt = this.#now();
      // From here on the request has had its effect, so the answer is worth reading whether or not somebody waits.
      stopped.removeEventListener("abort", hangUp);
      bytes = new Uint8Array(await response.arrayBuffer());
    } catch (cause) {
      // The server is in this program, and was closed: it will not be there again.
      if (cause instanceof SessionClosedError) throw cause;
      throw new UnavailableError("unavailable", "the server could not be reached", { cause });
    }
    const { headers, status } = response;
    if (request.takesBytes === true && status === 200) return { body: {}, bytes, headers, sentAt, receivedAt };
    const told = parse(new TextDecoder().decode(bytes));
    if (!response.ok) throw workErrorOf(refusalOf(response, told), key);
    if (told === undefined) throw new UnavailableError("unavailable", "the answer is not JSON");
    return { body: told, headers, sentAt, receivedAt };
  }

  async #headers(): Promise<Record<string, string>> {
    const { auth } = this.#settings;
    const credential = typeof auth === "function" ? await auth() : auth;
    return credential === undefined ? {} : { authorization: `Bearer ${credential}` };
  }
}

/** Nobody knows whether it took effect, so the same request may be sent again. */
export function isTransient(error: unknown): error is UnavailableError {
  return error instanceof UnavailableError && error.code !== "cancelled";
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A problem says what is wrong; of other answers, a proxy's for example, only the status does. */
function refusalOf(response: Response, told: Readonly<Record<string, unknown>> | undefined): Refusal {
  if (typeof told?.["code"] === "string") return told as unknown as Refusal;
  const { status } = response;
  const retryAfterMs = Number(response.headers.get("retry-after") ?? Number.NaN) * 1000;
  return {
    code: status >= 500 || status === 408 ? "unavailable" : (CODES[status] ?? `http_${status}`),
    detail: `the server answered ${status}`,
    ...(retryAfterMs >= 0 && { retry_after_ms: retryAfterMs }),
  };
}
