/** The plain calls about idempotent work over a session: an attempt that begins in it ends with it. */

import type {
  AttemptExtendedFrame,
  CompletedFrame,
  FailedFrame,
  ForgottenFrame,
  ReplayFrame,
} from "../protocol/idempotency-told.ts";
import { decodeResult, encodeResult } from "../protocol/result-text.ts";
import type { Addition, SessionLink } from "./addition.ts";
import { Attempts } from "./attempts.ts";
import { askAgain, begunBy } from "./begins.ts";
import type { ClaimFrame } from "./claim-answers.ts";
import { askOther } from "./claim-asks.ts";
import type { ClaimBook } from "./claim-book.ts";
import { UnavailableError } from "./errors.ts";
import type { AttemptExtension, BeginOptions, Begun, IdempotencyCalls, Replay } from "./idempotency-calls.ts";
import { type AttemptLossReason, workErrorOf } from "./idempotency-errors.ts";
import { bytesOf } from "./result.ts";
import type { Entry, StartTold } from "./session-types.ts";

/** Idempotent work in a session. */
export class SessionIdempotency implements IdempotencyCalls, Addition {
  readonly errorOf: typeof workErrorOf = workErrorOf;
  readonly askAgain: typeof askAgain = askAgain;
  readonly #attempts: Attempts;
  readonly #link: SessionLink;

  constructor(link: SessionLink) {
    this.#link = link;
    this.#attempts = new Attempts({
      ports: link.ports,
      now: link.now,
      onError: link.onError,
      onLook: () => link.book(() => undefined),
      extend: async (key, attempt, lease) => {
        const told = await link.request<AttemptExtendedFrame>({ t: "extend_attempt", key, attempt, lease });
        return { lease: told.lease, expiresIn: told.expires_in };
      },
    });
  }

  async begin(key: string, { signal, renew = false, ...asked }: BeginOptions = {}): Promise<Begun> {
    const frame = { t: "begin", key, ...asked } as const;
    const begun = await this.#link.wait(
      askOther(frame, "in_progress"),
      (told: StartTold | ReplayFrame) => {
        if (told.t === "replay") return told;
        // At once: what ends it may come with the same message.
        const { id, attempt, number, lease, expires_in: expiresIn, until } = told;
        return this.#attempts.started({ id, key, attempt, number, lease, expiresIn, until }, renew);
      },
      signal,
    );
    return "t" in begun ? replayOf(begun) : begun;
  }

  async complete(key: string, attempt: string, result: Uint8Array | string, contentType?: string): Promise<void> {
    const type = contentType ?? (typeof result === "string" ? "application/json" : "application/octet-stream");
    const told = encodeResult(bytesOf(result));
    const frame = { t: "complete", key, attempt, ...told, type } as const;
    await this.#attempts.ending(attempt, () => this.#link.request<CompletedFrame>(frame));
  }

  async fail(key: string, attempt: string): Promise<void> {
    await this.#attempts.ending(attempt, () => this.#link.request<FailedFrame>({ t: "fail", key, attempt }));
  }

  extend(key: string, attempt: string, lease: number): Promise<AttemptExtension> {
    return this.#attempts.extend(key, attempt, lease);
  }

  async forget(key: string, attempt?: string): Promise<boolean> {
    const ask = (): Promise<ForgottenFrame> => this.#link.request<ForgottenFrame>({ t: "forget", key, attempt });
    const { existed } = await (attempt === undefined ? ask() : this.#attempts.ending(attempt, ask));
    return existed;
  }

  received(book: ClaimBook, frame: ClaimFrame, entry: Entry | undefined): boolean {
    return begunBy(this.#attempts, book, frame, entry);
  }

  allLost(book: ClaimBook, reason: AttemptLossReason): void {
    book.afterStep(() => this.#attempts.loseAll(reason));
  }
}

function replayOf({ result: text, encoding, type: contentType, number }: ReplayFrame): Replay {
  const result = decodeResult({ result: text, encoding });
  if (result === undefined) throw new UnavailableError("internal", "the server sent a result that cannot be read");
  return { status: "replay", result, contentType, number };
}
