/** Begins of idempotent work in a session, from the asking to the start of an attempt. What becomes of attempts is told as outputs. */

import type { AttemptLostFrame, StartedFrame } from "../protocol/idempotency-told.ts";
import type { AdditionTable } from "./addition.ts";
import type { ClaimBook } from "./claim-book.ts";
import type { ClaimFrame } from "./claim-table.ts";
import type { Heartbeat } from "./heartbeat.ts";
import { type AttemptLossReason, AttemptLostError } from "./idempotency-errors.ts";
import { leaseUntil } from "./lease.ts";
import type { Entry } from "./session-types.ts";

export class Begins<Call> implements AdditionTable<Call> {
  readonly #book: ClaimBook<Call>;
  readonly #heartbeat: Heartbeat;
  #hasStarted = false;

  constructor(book: ClaimBook<Call>, heartbeat: Heartbeat) {
    this.#book = book;
    this.#heartbeat = heartbeat;
  }

  received(frame: ClaimFrame, entry: Entry<Call> | undefined): boolean {
    if (frame.t === "started") this.#started(frame, entry);
    else if (frame.t === "attempt_lost") this.#lost(frame, entry);
    else if (entry === undefined) return false;
    else if (frame.t === "attempt_queued") entry.queued = true;
    else if (frame.t === "in_progress") this.#book.fail(entry, this.#book.waitIsOver(entry, frame));
    else return false;
    return true;
  }

  /** The session is over, or not believed in any more, and so are its attempts. */
  allLost(reason: AttemptLossReason): void {
    if (this.#hasStarted) this.#book.emit({ kind: "attempts_lost", reason });
    this.#hasStarted = false;
  }

  /** After a resume the server does not say how a begin stands, but a repeat in the same words is the same begin, and tells. */
  askAgain(entry: Entry<Call>, helloAt: number): void {
    this.#book.repeat(entry);
    // What comes may have been sent before the repeat arrived.
    entry.sentAt = helloAt;
    entry.queued = true;
  }

  #started(frame: StartedFrame, entry: Entry<Call> | undefined): void {
    const book = this.#book;
    if (entry === undefined) return book.emit({ kind: "started_unasked", frame });
    const { call } = entry;
    const until = leaseUntil(Math.max(entry.sentAt ?? book.now, this.#heartbeat.heardAt), frame.expires_in);
    // After a wait little of its lease may be proven; a repeat is the same begin, and is answered from a send time of now.
    if (entry.queued && until - book.now < frame.expires_in / 2) return book.repeat(entry);
    if (until > book.now) {
      book.remove(entry);
      this.#hasStarted = true;
      if (call !== undefined) book.emit({ kind: "answered", call, frame: { ...frame, until } });
    } else {
      book.fail(entry, new AttemptLostError(frame.key, "expired"));
      book.cancel(frame.id, "cancel_begin");
    }
  }

  #lost(frame: AttemptLostFrame, entry: Entry<Call> | undefined): void {
    const error = new AttemptLostError(frame.key, frame.reason as AttemptLossReason);
    if (entry === undefined) this.#book.emit({ kind: "attempt_lost", id: frame.id, error });
    else this.#book.fail(entry, error);
  }
}
