/** The plain calls about idempotent work over a session: an attempt that begins in it ends with it. */

import type {
  AttemptExtendedFrame,
  CompletedFrame,
  FailedFrame,
  ForgottenFrame,
  ReplayFrame,
  StartedFrame,
} from "../protocol/idempotency-told.ts";
import { decodeResult, encodeResult } from "../protocol/result-text.ts";
import { Attempts, type AttemptsSettings } from "./attempts.ts";
import { UnavailableError } from "./errors.ts";
import type { AttemptExtension, BeginOptions, Begun, IdempotencyCalls, Replay } from "./idempotency-calls.ts";
import { bytesOf } from "./result.ts";
import type { Answer, Ask, Output } from "./session-types.ts";

/** What it needs of the session. */
export interface SessionLink extends Omit<AttemptsSettings, "extend"> {
  /** Rejects with the signal's reason, and withdraws the begin, when that aborts. */
  readonly begin: <Given>(
    signal: AbortSignal | undefined,
    frame: Extract<Ask, { t: "begin" }>,
    give: (told: StartTold | ReplayFrame) => Given,
  ) => Promise<Given>;
  readonly request: <Told extends Answer>(frame: Exclude<Ask, { t: "acquire" | "begin" }>) => Promise<Told>;
  readonly cancelBegin: (id: string) => void;
}

export type StartTold = Extract<Output<unknown>, { kind: "started" }>;

export class SessionIdempotency implements IdempotencyCalls {
  readonly attempts: Attempts;
  readonly #link: SessionLink;

  constructor(link: SessionLink) {
    this.#link = link;
    this.attempts = new Attempts({
      ...link,
      extend: async (key, attempt, lease) => {
        const told = await link.request<AttemptExtendedFrame>({ t: "extend_attempt", key, attempt, lease });
        return { lease: told.lease, expiresIn: told.expires_in };
      },
    });
  }

  async begin(key: string, { signal, renew = false, ...asked }: BeginOptions = {}): Promise<Begun> {
    const frame = { t: "begin", key, ...asked } as const;
    const begun = await this.#link.begin(signal, frame, (told) => {
      if ("t" in told) return told;
      // At once: what ends it may come with the same message.
      const { id, attempt, number, lease, expires_in: expiresIn } = told.frame;
      return this.attempts.started({ id, key, attempt, number, lease, expiresIn, until: told.until }, renew);
    });
    return "t" in begun ? replayOf(begun) : begun;
  }

  async complete(key: string, attempt: string, result: Uint8Array | string, contentType?: string): Promise<void> {
    const type = contentType ?? (typeof result === "string" ? "application/json" : "application/octet-stream");
    const told = encodeResult(bytesOf(result));
    const frame = { t: "complete", key, attempt, ...told, type } as const;
    await this.attempts.ending(attempt, () => this.#link.request<CompletedFrame>(frame));
  }

  async fail(key: string, attempt: string): Promise<void> {
    await this.attempts.ending(attempt, () => this.#link.request<FailedFrame>({ t: "fail", key, attempt }));
  }

  extend(key: string, attempt: string, lease: number): Promise<AttemptExtension> {
    return this.attempts.extend(key, attempt, lease);
  }

  async forget(key: string, attempt?: string): Promise<boolean> {
    const ask = (): Promise<ForgottenFrame> => this.#link.request<ForgottenFrame>({ t: "forget", key, attempt });
    const { existed } = await (attempt === undefined ? ask() : this.attempts.ending(attempt, ask));
    return existed;
  }

  /** One whose begin nobody waits for any more, unless it is told a second time. */
  startedUnasked({ id, attempt }: StartedFrame): void {
    if (!this.attempts.has(attempt)) this.#link.cancelBegin(id);
  }
}

function replayOf({ result: text, encoding, type: contentType, number }: ReplayFrame): Replay {
  const result = decodeResult({ result: text, encoding });
  if (result === undefined) throw new UnavailableError("internal", "the server sent a result that cannot be read");
  return { status: "replay", result, contentType, number };
}
