/** What comes of claims with the time, and when the connection of their session comes, goes or ends. */

import { giveUp } from "./claim-asks.ts";
import { type ClaimBook, endOf, errorFor, fail, isDue, lose, sendDue } from "./claim-book.ts";
import { NEVER } from "./clock.ts";
import type { LatchkeyError } from "./errors.ts";

/** Serves what is over by the clock. */
export function serveDue(book: ClaimBook): void {
  if (book.nowMs < book.dueAt) return;
  book.dueAt = NEVER;
  for (const hold of book.holds.values()) {
    // A last release that is on its way decides by its answer: a local end would report a false loss.
    if ((hold.handles > 0 || !book.session) && isDue(book, hold.leaseUntil)) lose(book, hold, "expired");
  }
  for (const entry of book.requests.values()) {
    sendDue(book, entry);
    if (!isDue(book, endOf(book, entry))) continue;
    const code = (entry.frame.timeout && entry.over) || "unavailable";
    giveUp(book, entry, errorFor(book, entry, { code, detail: "no answer" }));
  }
}

/** Sends what waited for a connection. */
export function sendAll(book: ClaimBook): void {
  for (const entry of book.requests.values()) {
    // What an earlier connection was to wait for is nothing to this one.
    entry.sendAt = 0;
    sendDue(book, entry);
  }
}

/** The connection is lost and the session may be resumed: what the server does not know of then is sent again. */
export function suspend(book: ClaimBook): void {
  book.session = undefined;
  // An overrun was for an answer, and there is none now.
  book.dueAt = book.nowMs;
}

/**
 * The session is over. What it held is lost; waiting acquires, to whom nothing was promised, queue anew in the next one, unless
 * there is an error for them.
 */
export function endSession(book: ClaimBook, error?: LatchkeyError): void {
  suspend(book);
  loseAll(book, "dropped");
  for (const entry of book.requests.values()) {
    entry.sentAt = undefined;
    if (error && entry.over) fail(book, entry, error);
  }
}

/** All that is held through the session; `kept` ones, which go on without it, only when nobody can use them any more. */
export function loseAll(book: ClaimBook, reason: "dropped" | "closed", kept: boolean = false): void {
  book.added?.allLost(book, reason);
  for (const hold of book.holds.values()) {
    if (kept || !hold.keep) lose(book, hold, reason);
  }
}
