/**
 * What a session has asked and what it holds, and the few moves that everything else is made of. A record leaves in one step: out of
 * every table, and its caller is told. What callers ask is in `claim-asks.ts`, what the server says in `claim-answers.ts`, what comes
 * with the time and the connection in `claim-session.ts`. Times are the client's clock, ms.
 */

import type { ClaimTold, Granted as GrantedFrame } from "../protocol/server-frames.ts";
import type { Addition } from "./addition.ts";
import { NEVER } from "./clock.ts";
import { type By, errorOf, type LatchkeyError, LockLostError, type LossReason, type Refusal } from "./errors.ts";
import type { Heartbeat } from "./heartbeat.ts";
import { leaseUntil } from "./lease.ts";
import { Grant } from "./lock.ts";
import type { Watches } from "./watches.ts";
import type { Ask, Call, Entry, Held, Over, Wanted } from "./session-types.ts";

/** How long a request without a timeout of its own may be without an answer, ms. */
const ANSWER_MS = 10_000;

/** How long after an acquire's timeout its answer may still arrive, ms. The server's word is better than our clock's. */
const OVERRUN_MS = 2_000;

/** A plain record, so that its moves can be told apart by file. */
export interface ClaimBook {
  /** The time of the present step. */
  nowMs: number;
  /** Nothing is over by the clock before this. */
  dueAt: number;
  /** Set while frames can be sent. */
  session: string | undefined;
  /** Set when nothing will be answered any more. */
  ended: LatchkeyError | undefined;
  /** Of the latest request. */
  serial: number;
  readonly requests: Map<string, Entry>;
  readonly holds: Map<string, Held>;
  readonly heartbeat: Heartbeat;
  readonly added: Addition | undefined;
  /** Made with the first watch. */
  watches: Watches | undefined;
  /** Done when the step is over. */
  afterStep(act: () => void): void;
  /** When the step is over. */
  send(text: string): void;
}

export function find(book: ClaimBook, test: (hold: Held) => boolean): Held | undefined {
  for (const hold of book.holds.values()) {
    if (test(hold)) return hold;
  }
  return undefined;
}

export function byToken(book: ClaimBook, token: string | undefined): Held | undefined {
  return find(book, (held) => held.token === token);
}

/** Without a `call` nobody waits for the answer. */
export function ask(book: ClaimBook, call: Call | undefined, frame: Ask, hold?: Held, over?: Over): Entry {
  const giveUpAt = book.nowMs + (frame.timeout || ANSWER_MS);
  const entry: Entry = { call, frame, hold, over, giveUpAt, sendAt: 0, id: newId(book) };
  const error = hold?.loss?.() ?? book.ended;
  if (error) call?.refuse(error);
  else {
    book.requests.set(entry.id, entry);
    hold?.requests.add(entry);
    sendDue(book, entry);
    isDue(book, endOf(book, entry));
  }
  return entry;
}

/** The same request once more is the same claim: it changes nothing, and is answered with how the claim stands. */
export function repeat(book: ClaimBook, entry: Entry): void {
  sendText(book, entry, entry.text as string);
}

/** Asks again as if for the first time: the claim under the old id came and went unseen, so nothing was promised. */
export function renew(book: ClaimBook, entry: Entry): void {
  book.requests.delete(entry.id);
  entry.id = newId(book);
  entry.sentAt = undefined;
  book.requests.set(entry.id, entry);
  sendDue(book, entry);
}

/** Takes back what can be waited for. */
export function cancel(book: ClaimBook, id: string, over: Over): void {
  if (book.session) book.send(JSON.stringify({ t: over === "timeout" ? "cancel" : "cancel_begin", id }));
}

/** Releases a grant. `hold`: what is known of it. It goes on until the server has taken it or the lock is over. */
export function letGo(
  book: ClaimBook,
  call: Call | undefined,
  { key, token }: Pick<Held, "key" | "token">,
  hold?: Held,
): Entry {
  return ask(book, call, { t: "release", key, token, timeout: NEVER }, hold);
}

/** Its answer is there, or nobody wants it any more. The next request about the same hold may go. False: it was not there. */
export function remove(book: ClaimBook, entry: Entry): boolean {
  const { hold } = entry;
  if (!book.requests.delete(entry.id)) return false;
  hold?.requests.delete(entry);
  for (const next of hold?.requests ?? []) sendDue(book, next);
  return true;
}

export function errorFor(book: ClaimBook, { frame }: Entry, refusal: Refusal): LatchkeyError {
  return (book.added?.errorOf ?? errorOf)(refusal, (frame as { readonly key?: string }).key);
}

export function refuse(book: ClaimBook, entry: Entry, refusal: Refusal): void {
  fail(book, entry, errorFor(book, entry, refusal));
}

export function fail(book: ClaimBook, entry: Entry, error: Error): void {
  const { call, frame, hold } = entry;
  if (!remove(book, entry)) return;
  if (hold && frame.t === "acquire") {
    // A nested acquire came to nothing.
    hold.handles -= 1;
    finish(book, hold);
  }
  call?.refuse(error);
}

/** The entry is granted, at least until then. */
export function grant(book: ClaimBook, entry: Entry, told: GrantedFrame | ClaimTold, until: number): void {
  const { id, frame, sentAt = book.nowMs } = entry;
  let { hold } = entry;
  if (!hold && until <= book.nowMs) {
    // It took so long to arrive that nothing is left of it. Nobody must take it for a lock.
    fail(book, entry, new LockLostError(told.key, "expired"));
    letGo(book, undefined, told as GrantedFrame);
    return;
  }
  remove(book, entry);
  if (!hold) {
    hold = {
      ...(told as GrantedFrame),
      session: book.session,
      keep: (frame as Wanted).keep,
      grant: new Grant(),
      leaseUntil: until,
      askedAt: sentAt,
      handles: 1,
      requests: new Set(),
    };
    book.holds.set(id, hold);
  }
  // Re-entry never shortens a lease.
  hold.ttl = told.ttl ?? hold.ttl;
  setLease(book, hold, Math.max(hold.leaseUntil, until));
  entry.call?.tell(hold);
}

/** A nested acquire that was given up may have counted all the same: then the last release was not the last. */
export function finish(book: ClaimBook, hold: Held): void {
  if (!hold.handles && !hold.requests.size && !hold.loss) letGo(book, undefined, hold, hold);
}

export function setLease(book: ClaimBook, hold: Held, until: number): void {
  hold.leaseUntil = until;
  isDue(book, until);
}

/** The hold is over. First those who work under it are told, then those who wait for an answer about it. */
export function lose(book: ClaimBook, hold: Held, reason: LossReason, by?: By): void {
  if (!book.holds.delete(hold.id)) return;
  // An error costs more than all the rest of a release, and after most of them nobody wants to know.
  let error: LockLostError | undefined;
  const loss = (): LockLostError => (error ??= new LockLostError(hold.key, reason, by));
  hold.loss = loss;
  if (hold.handles > 0) book.afterStep(() => hold.grant.lose(loss()));
  for (const entry of hold.requests) {
    book.requests.delete(entry.id);
    entry.call?.refuse(loss());
  }
}

/** Whether an extend or a release is on its way. Only one at a time: a repeat after a resume is recognised for the latest alone. */
export function isBusy(hold: Held): boolean {
  for (const entry of hold.requests) {
    if (entry.frame.t !== "acquire" && isSent(entry)) return true;
  }
  return false;
}

/** Sends what was not sent yet, if it can go now. */
export function sendDue(book: ClaimBook, entry: Entry): void {
  const { frame, hold, id } = entry;
  if (!book.session || isSent(entry) || !isDue(book, entry.sendAt)) return;
  if (hold && frame.t !== "acquire") {
    if (isBusy(hold)) return;
    if (frame.t === "extend") {
      // It may shorten the lease, as soon as it arrives.
      entry.leaseBefore = hold.leaseUntil;
      setLease(book, hold, Math.min(hold.leaseUntil, leaseUntil(book.nowMs, frame.ttl)));
    }
  }
  const left = Math.max(1, Math.ceil(entry.giveUpAt - book.nowMs));
  const timeout = left === NEVER ? undefined : frame.timeout && left;
  try {
    sendText(book, entry, JSON.stringify({ ...frame, id, timeout }));
  } catch (error) {
    // What the caller gave is no JSON. It must not come up again, in the midst of something else.
    fail(book, entry, error as Error);
  }
  entry.afterSend?.();
}

function sendText(book: ClaimBook, entry: Entry, text: string): void {
  entry.sentAt = book.nowMs;
  entry.isQueued = false;
  entry.text = text;
  book.send(text);
}

/** When the caller of this request is told that it failed. */
export function endOf(book: ClaimBook, entry: Entry): number {
  return entry.giveUpAt + (entry.frame.timeout && book.session && isSent(entry) ? OVERRUN_MS : 0);
}

/** Whether `at` has come; if not, the clock will be looked at then. */
export function isDue(book: ClaimBook, at: number): boolean {
  if (at > book.nowMs) book.dueAt = Math.min(book.dueAt, at);
  return at <= book.nowMs;
}

function newId(book: ClaimBook): string {
  return String((book.serial += 1));
}

/** Whether it is sent in this session. */
export function isSent({ sentAt }: Entry): boolean {
  return sentAt !== undefined;
}
