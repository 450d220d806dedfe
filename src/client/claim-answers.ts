/**
 * What a frame of the server means for what was asked and what is held. The server's word counts, never this memory alone: whatever
 * the server says is live and is not known here (an acquire that was given up, a grant that crossed its cancel) is not wanted, and is
 * let go.
 */

import type { Granted, LostFrame, RefusedFrame, ServerFrame } from "../protocol/server-frames.ts";
import {
  byToken,
  type ClaimBook,
  fail,
  finish,
  grant,
  isBusy,
  isDue,
  letGo,
  lose,
  refuse,
  remove,
  renew,
  repeat,
  setLease,
} from "./claim-book.ts";
import { NEVER } from "./clock.ts";
import { LockLostError, type LossReason } from "./errors.ts";
import { leaseUntil } from "./lease.ts";
import type { Answer, Ask, Entry } from "./session-types.ts";

/** The pause before a request is sent again that the server could not serve, ms. */
const RESEND_MS = 1_000;

/** What is sent again when the server could not serve it. */
const MUST_ARRIVE: ReadonlySet<Ask["t"]> = new Set(["release", "complete", "fail"]);

/** The frames that answer something or tell of a claim. */
export type ClaimFrame = Extract<ServerFrame, { id: string }>;

export function received(book: ClaimBook, frame: ClaimFrame): void {
  const entry = book.requests.get(frame.id);
  if (book.added?.received(book, frame, entry) || book.watches?.received(book, frame)) return;
  if (frame.t === "granted") granted(book, frame, entry);
  else if (frame.t === "lost") lost(book, frame, entry);
  else if (entry) answered(book, frame, entry);
}

function answered(book: ClaimBook, frame: Exclude<ClaimFrame, Granted | LostFrame>, entry: Entry): void {
  const { call, hold } = entry;
  entry.isQueued = frame.t === "queued";
  if (entry.isQueued) return;
  if (frame.t === "timeout" || frame.t === "cancelled") return refuse(book, entry, { code: frame.t });
  if (frame.t === "refused") return refused(book, frame, entry);
  // All others are what was asked for.
  remove(book, entry);
  call?.tell(frame as Answer);
  if (!hold) return;
  if (frame.t === "extended") {
    hold.ttl = frame.ttl;
    setLease(book, hold, leaseUntil(entry.sentAt ?? book.nowMs, frame.expires_in));
  } else if (frame.t === "released") {
    if (entry.frame.t === "hand_to") hold.handles -= 1;
    if (frame.depth === 0) lose(book, hold, "released");
    else finish(book, hold);
  }
}

function granted(book: ClaimBook, frame: Granted, entry: Entry | undefined): void {
  const { id, token, expires_in: expiresInMs } = frame;
  const hold = book.holds.get(id);
  if (entry) {
    // What was acked before this frame came was heard before it was sent.
    const until = leaseUntil(Math.max(entry.sentAt ?? book.nowMs, book.heartbeat.heardAt), expiresInMs);
    const isProven = !entry.isQueued || until - book.nowMs >= (expiresInMs ?? 0) / 2;
    if (entry.isQueued && expiresInMs !== undefined) repeat(book, entry);
    // If not, the answer to that decides.
    if (isProven) grant(book, entry, frame, until);
  } else if (!hold) {
    // Not wanted any more. It may be a nested acquire's.
    letGo(book, undefined, frame, byToken(book, token));
  } else if (!isBusy(hold)) {
    setLease(book, hold, Math.max(hold.leaseUntil, leaseUntil(hold.askedAt, expiresInMs)));
  }
}

function lost(book: ClaimBook, { id, key, reason: told, by }: LostFrame, entry: Entry | undefined): void {
  const reason = told as LossReason;
  const hold = book.holds.get(id) ?? entry?.hold;
  if (hold) return lose(book, hold, reason, by);
  if (!entry) return;
  if (entry.frame.t !== "acquire") fail(book, entry, new LockLostError(key, reason, by));
  else if (reason === "revoked") refuse(book, entry, { code: reason });
  // When the whole session goes, the acquire queues anew in the next one anyway.
  else if (reason !== "dropped") renew(book, entry);
}

function refused(book: ClaimBook, frame: RefusedFrame, entry: Entry): void {
  const { hold, frame: asked, leaseBefore = NEVER } = entry;
  if (frame.retryable && (MUST_ARRIVE.has(asked.t) || frame.code === "draining")) {
    // Nobody could have the key if a release were dropped here, and work that is done would be done again.
    entry.sentAt = undefined;
    entry.sendAt = book.nowMs + (frame.retry_after_ms ?? RESEND_MS);
    isDue(book, entry.sendAt);
  } else if (hold && frame.code === "unknown_token") {
    lose(book, hold, "unknown");
  } else {
    if (hold && asked.t === "extend") setLease(book, hold, leaseBefore);
    refuse(book, entry, frame);
  }
}
