/** Begins of idempotent work in a session, from the asking to the start of an attempt. */

import type { AttemptLostFrame, StartedFrame } from "../protocol/idempotency-told.ts";
import type { Attempts } from "./attempts.ts";
import type { ClaimFrame } from "./claim-answers.ts";
import { cancel, type ClaimBook, fail, refuse, remove, repeat } from "./claim-book.ts";
import { type AttemptLossReason, AttemptLostError } from "./idempotency-errors.ts";
import { leaseUntil } from "./lease.ts";
import type { Entry } from "./session-types.ts";

/** Whether the frame is about a begin or an attempt: then it is served. */
export function begunBy(attempts: Attempts, book: ClaimBook, frame: ClaimFrame, entry: Entry | undefined): boolean {
  if (frame.t === "started") started(attempts, book, frame, entry);
  else if (frame.t === "attempt_lost") lost(attempts, book, frame, entry);
  else if (entry === undefined) return false;
  else if (frame.t === "attempt_queued") entry.isQueued = true;
  else if (frame.t === "in_progress") refuse(book, entry, { ...frame, code: frame.t });
  else return false;
  return true;
}

/** After a resume the server does not say how a begin stands, but a repeat in the same words is the same begin, and tells. */
export function askAgain(book: ClaimBook, entry: Entry, helloAt: number): void {
  repeat(book, entry);
  // What comes may have been sent before the repeat arrived.
  entry.sentAt = helloAt;
  entry.isQueued = true;
}

function started(attempts: Attempts, book: ClaimBook, frame: StartedFrame, entry: Entry | undefined): void {
  if (entry === undefined) {
    // No call waits for it: it is withdrawn, if it is not one that was started before.
    if (!attempts.has(frame.attempt)) cancel(book, frame.id, "in_progress");
    return;
  }
  const until = leaseUntil(Math.max(entry.sentAt ?? book.nowMs, book.heartbeat.heardAt), frame.expires_in);
  // After a wait little of its lease may be proven; a repeat is the same begin, and is answered from a send time of now.
  if (entry.isQueued === true && until - book.nowMs < frame.expires_in / 2) return repeat(book, entry);
  if (until > book.nowMs) {
    remove(book, entry);
    entry.call?.tell({ ...frame, until });
  } else {
    fail(book, entry, new AttemptLostError(frame.key, "expired"));
    cancel(book, frame.id, "in_progress");
  }
}

function lost(attempts: Attempts, book: ClaimBook, frame: AttemptLostFrame, entry: Entry | undefined): void {
  const error = new AttemptLostError(frame.key, frame.reason as AttemptLossReason);
  if (entry === undefined) book.afterStep(() => attempts.lose(frame.id, error));
  else fail(book, entry, error);
}
