/** Begins of idempotent work in a session, from the asking to the start of an attempt. What becomes of attempts is told as outputs. */

import type { AttemptLostFrame, StartedFrame } from "../protocol/idempotency-told.ts";
import type { ClaimBook } from "./claim-book.ts";
import { type AttemptLossReason, AttemptLostError } from "./errors.ts";
import type { Heartbeat } from "./heartbeat.ts";
import { leaseUntil } from "./lease.ts";
import type { Ask, Entry } from "./session-types.ts";

export class Begins<Call> {
  readonly #book: ClaimBook<Call>;
  readonly #heartbeat: Heartbeat;
  #hasStarted = false;

  constructor(book: ClaimBook<Call>, heartbeat: Heartbeat) {
    this.#book = book;
    this.#heartbeat = heartbeat;
  }

  /** Like an acquire, it waits for the connection and the answer also without a timeout. */
  ask(call: Call, { timeout, ...asked }: Extract<Ask, { t: "begin" }>): Entry<Call> {
    return this.#book.ask(call, asked, undefined, timeout || undefined, timeout);
  }

  /** Takes back an attempt that nobody wants. */
  withdraw(id: string): void {
    this.#book.cancel(id, "cancel_begin");
  }

  started(frame: StartedFrame, entry: Entry<Call> | undefined): void {
    const book = this.#book;
    if (entry === undefined) return book.emit({ kind: "started_unasked", frame });
    const { call } = entry;
    const until = leaseUntil(Math.max(entry.sentAt ?? book.now, this.#heartbeat.heardAt), frame.expires_in);
    // After a wait little of its lease may be proven; a repeat is the same begin, and is answered from a send time of now.
    if (entry.queued && until - book.now < frame.expires_in / 2) return book.repeat(entry);
    if (until > book.now) {
      book.remove(entry);
      this.#hasStarted = true;
      if (call !== undefined) book.emit({ kind: "started", call, frame, until });
    } else {
      book.fail(entry, new AttemptLostError(frame.key, "expired"));
      this.withdraw(frame.id);
    }
  }

  attemptLost(frame: AttemptLostFrame, entry: Entry<Call> | undefined): void {
    const error = new AttemptLostError(frame.key, frame.reason as AttemptLossReason);
    if (entry === undefined) this.#book.emit({ kind: "attempt_lost", id: frame.id, error });
    else this.#book.fail(entry, error);
  }

  /** The session is over, or not believed in any more, and so are its attempts. */
  allLost(reason: AttemptLossReason): void {
    if (this.#hasStarted) this.#book.emit({ kind: "attempts_lost", reason });
    this.#hasStarted = false;
  }

  /** After a resume the server does not say how a begin stands, but a repeat in the same words is the same begin, and tells. */
  askAgain(entry: Entry<Call>, helloAt: number): void {
    if (entry.frame.t !== "begin" || entry.sentAt === undefined) {
      entry.sentAt = undefined;
      return;
    }
    this.#book.repeat(entry);
    // What comes may have been sent before the repeat arrived.
    entry.sentAt = helloAt;
    entry.queued = true;
  }
}
