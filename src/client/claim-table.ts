/**
 * What a session has asked and what it holds: what to send, what a frame means for whom, and what is over by the clock.
 * The connection is the session machine's business. Times are the client's clock, ms.
 *
 * The server's word counts, never this memory alone: whatever the server says is live and is not known here (an acquire that
 * was given up, a grant that crossed its cancel) is not wanted, and is let go.
 */

import type { ClaimTold, Granted, LostFrame, RefusedFrame, ServerFrame } from "../protocol/server-frames.ts";
import type { Addition, AdditionCalls, AdditionTable, Asked } from "./addition.ts";
import { ClaimBook, keyOf } from "./claim-book.ts";
import { NEVER } from "./clock.ts";
import { errorOf, type LatchkeyError, LockLostError, type LossReason, UnavailableError } from "./errors.ts";
import type { Heartbeat } from "./heartbeat.ts";
import { leaseUntil } from "./lease.ts";
import type { Reconcile } from "./resume.ts";
import type { Answer, Ask, Entry, Held, Hold, Output, Wait, Wanted } from "./session-types.ts";

/** The pause before a request is sent again that the server could not serve, ms. */
const RESEND_MS = 1_000;

/** What is sent again when the server could not serve it. */
const MUST_ARRIVE: ReadonlySet<Ask["t"]> = new Set(["release", "complete", "fail"]);

const ACQUIRE: Wait = { over: "timeout", cancel: "cancel" };

/** The frames that answer something or tell of a claim. */
export type ClaimFrame = Extract<ServerFrame, { id: string }>;

export class ClaimTable<Call> {
  /** Set before the first resume; see `resume.ts`. */
  reconcile: Reconcile | undefined;
  readonly book: ClaimBook<Call>;
  readonly #heartbeat: Heartbeat;
  readonly added: AdditionTable<Call> | undefined;

  constructor(heartbeat: Heartbeat, emit: (output: Output<Call>) => void, addition?: Addition<AdditionCalls>) {
    this.book = new ClaimBook(emit, addition?.errorOf ?? errorOf);
    this.#heartbeat = heartbeat;
    this.added = addition?.table(this.book, heartbeat);
  }

  get holding(): boolean {
    return this.book.holds.size > 0;
  }

  /** Nothing happens by the clock before this. */
  get dueAt(): number {
    return this.book.dueAt;
  }

  /** Every step begins with this. */
  setTime(now: number): void {
    this.book.now = now;
  }

  /** Serves what is over by the clock. */
  serve(): void {
    const book = this.book;
    if (book.now < book.dueAt) return;
    book.dueAt = NEVER;
    for (const hold of book.holds.values()) {
      // A last release that is on its way decides by its answer: a local end would report a false loss.
      const decided = hold.open > 0 || book.session === undefined;
      if (decided && book.isDue(hold.leaseUntil)) book.lose(hold, "expired");
    }
    for (const entry of book.entries.values()) {
      if (book.session !== undefined && book.isDue(entry.resendAt ?? NEVER)) book.send(entry);
      if (book.isDue(book.giveUpAt(entry))) book.giveUp(entry);
    }
  }

  // What callers want.

  acquire(call: Call, key: string, { reentrant, timeout, ttl, ...rest }: Wanted): Entry<Call> {
    const hold = reentrant === true ? this.book.find((held) => held.key === key && held.open > 0) : undefined;
    if (hold !== undefined) hold.open += 1;
    const nested = hold && { token: hold.token, nest: true };
    // Whoever asks only whether the key is free (0) still waits for the connection and the answer.
    const patienceMs = timeout === undefined ? NEVER : timeout || undefined;
    const limit = timeout === NEVER ? undefined : timeout;
    return this.book.ask(call, { t: "acquire", key, ttl, ...(nested ?? rest) }, hold, patienceMs, limit, ACQUIRE);
  }

  cancel(entry: Entry<Call> | undefined): void {
    if (entry !== undefined && this.book.entries.get(entry.id) === entry) this.book.withdraw(entry);
  }

  /** By default for as long as asked last; the server refuses it when there is no lease at all. */
  extend(call: Call, hold: Hold, ttl: number | undefined): Entry<Call> {
    const held = hold as Held<Call>;
    const { key, token } = held;
    return this.book.ask(call, { t: "extend", key, token, ttl: (ttl ?? held.ttl) as number }, held);
  }

  /** One handle's release. */
  release(call: Call, hold: Hold): Entry<Call> {
    const held = hold as Held<Call>;
    held.open -= 1;
    return this.book.letGo(call, held, held);
  }

  /** By raw token, or without one. `timeout`, ms: of something that may be waited for. */
  request(call: Call, frame: Asked, timeout?: number, wait?: Wait): Entry<Call> {
    const hold = "token" in frame ? this.#byToken(frame.token) : undefined;
    // Like an acquire, it waits for the connection and the answer also without a timeout.
    return this.book.ask(call, frame, hold, timeout || undefined, timeout, wait);
  }

  // What the connection does.

  /** From now on frames can be sent. `claims`: the server's snapshot after a resume, which was asked for at `helloAt`. */
  connected(session: string, helloAt: number, claims: readonly ClaimTold[] | undefined): void {
    this.book.session = session;
    if (claims !== undefined) this.reconcile?.(this, claims, helloAt);
    for (const entry of this.book.entries.values()) {
      if (entry.sentAt === undefined) this.book.send(entry);
    }
  }

  /** The connection is lost and the session may be resumed: what the server does not know of then is sent again. */
  suspended(): void {
    this.book.session = undefined;
    for (const entry of this.book.entries.values()) {
      if (entry.hold !== undefined) entry.hold.busy = false;
      // Its overrun was for an answer, and there is none now.
      this.book.watch(entry.giveUpAt);
    }
  }

  /**
   * The session is over. What it held is lost; waiting acquires, to whom nothing was promised, queue anew in the next one, unless
   * there is an error for them.
   */
  sessionEnded(error?: LatchkeyError): void {
    this.suspended();
    this.loseAll("dropped");
    for (const entry of this.book.entries.values()) {
      entry.sentAt = undefined;
      if (error !== undefined && entry.wait !== undefined) this.book.fail(entry, error);
    }
  }

  /** All that is held through the session; `kept` ones, which go on without it, only when nobody can use them any more. */
  loseAll(reason: "dropped" | "closed", kept: boolean = false): void {
    this.added?.allLost(reason);
    for (const hold of this.book.holds.values()) {
      if (kept || !hold.keep) this.book.lose(hold, reason);
    }
  }

  close(error: LatchkeyError): void {
    this.book.closed = error;
    for (const entry of this.book.entries.values()) this.book.fail(entry, error);
    this.book.dueAt = NEVER;
  }

  // What the server says.

  received(frame: ClaimFrame): void {
    const entry = this.book.entries.get(frame.id);
    if (this.added?.received(frame, entry) === true) return;
    if (frame.t === "granted") this.#granted(frame, entry);
    else if (frame.t === "lost") this.#lost(frame, entry);
    else if (entry !== undefined) this.#answered(frame, entry);
  }

  #answered(frame: Exclude<ClaimFrame, Granted | LostFrame>, entry: Entry<Call>): void {
    const book = this.book;
    const { call, hold } = entry;
    if (frame.t === "queued") {
      entry.queued = true;
      return;
    }
    if (frame.t === "timeout") return book.fail(entry, book.waitIsOver(entry, frame));
    if (frame.t === "cancelled") return book.fail(entry, waitEnded("cancelled"));
    if (frame.t === "refused") return this.#refused(frame, entry);
    // All others are what was asked for.
    book.remove(entry);
    if (call !== undefined) book.emit({ kind: "answered", call, frame: frame as Answer });
    if (hold === undefined) return;
    if (frame.t === "extended") {
      hold.ttl = frame.ttl;
      book.setLease(hold, leaseUntil(entry.sentAt ?? book.now, frame.expires_in));
    } else if (frame.t === "released") {
      if (entry.frame.t === "hand_to") hold.open -= 1;
      if (frame.depth === 0) book.lose(hold, "released");
      else book.finish(hold);
    }
  }

  #granted(frame: Granted, entry: Entry<Call> | undefined): void {
    const book = this.book;
    const hold = book.holds.get(frame.id);
    if (entry !== undefined) {
      // What was acked before this frame came was heard before it was sent.
      const until = leaseUntil(Math.max(entry.sentAt ?? book.now, this.#heartbeat.heardAt), frame.expires_in);
      const isProven = until - book.now >= (frame.expires_in ?? 0) / 2;
      const { queued } = entry;
      if (queued && frame.expires_in !== undefined) book.repeat(entry);
      // If not, the answer to that decides.
      if (isProven || !queued) this.hold(frame, entry, until);
    } else if (hold === undefined) {
      // Not wanted any more. It may be a nested acquire's.
      book.letGo(undefined, frame, this.#byToken(frame.token));
    } else if (!hold.busy) {
      book.setLease(hold, Math.max(hold.leaseUntil, leaseUntil(hold.askedAt, frame.expires_in)));
    }
  }

  /** The entry is granted. */
  hold(told: Granted | ClaimTold, entry: Entry<Call>, until: number): void {
    const book = this.book;
    let { hold } = entry;
    if (hold === undefined && until <= book.now) {
      // It took so long to arrive that nothing is left of it. Nobody must take it for a lock.
      book.fail(entry, new LockLostError(told.key, "expired"));
      book.letGo(undefined, told as Granted, undefined);
      return;
    }
    book.remove(entry);
    if (hold === undefined) {
      hold = {
        ...(told as Granted),
        session: book.session,
        keep: entry.frame.t === "acquire" && entry.frame.keep === true,
        ttl: told.ttl,
        leaseUntil: until,
        askedAt: entry.sentAt ?? book.now,
        open: 1,
        busy: false,
        entries: new Set(),
      };
      book.holds.set(entry.id, hold);
    }
    // Re-entry never shortens a lease.
    hold.ttl = told.ttl ?? hold.ttl;
    book.setLease(hold, Math.max(hold.leaseUntil, until));
    if (entry.call !== undefined) book.emit({ kind: "granted", call: entry.call, hold });
  }

  #lost(frame: LostFrame, entry: Entry<Call> | undefined): void {
    const reason = frame.reason as LossReason;
    const hold = this.book.holds.get(frame.id) ?? entry?.hold;
    const error = new LockLostError(frame.key, reason, frame.by);
    if (hold !== undefined) this.book.lose(hold, error);
    else if (entry === undefined) return;
    else if (entry.frame.t !== "acquire") this.book.fail(entry, error);
    else if (reason === "revoked") this.book.fail(entry, waitEnded(reason));
    // When the whole session goes, the acquire queues anew in the next one anyway.
    else if (reason !== "dropped") this.book.renew(entry);
  }

  #refused(frame: RefusedFrame, entry: Entry<Call>): void {
    const book = this.book;
    const { hold } = entry;
    if (frame.retryable && (MUST_ARRIVE.has(entry.frame.t) || frame.code === "draining")) {
      // Nobody could have the key if a release were dropped here, and work that is done would be done again.
      entry.sentAt = undefined;
      entry.resendAt = book.now + (frame.retry_after_ms ?? RESEND_MS);
      book.watch(entry.resendAt);
      if (hold !== undefined && entry.frame.t !== "acquire") hold.busy = false;
    } else if (hold !== undefined && frame.code === "unknown_token") {
      book.lose(hold, "unknown");
    } else {
      if (hold !== undefined && entry.frame.t === "extend") book.setLease(hold, entry.leaseBefore ?? NEVER);
      book.fail(entry, book.errorOf(frame, keyOf(entry)));
    }
  }

  #byToken(token: string): Held<Call> | undefined {
    return this.book.find((held) => held.token === token);
  }
}

/** Somebody else ended a wait. */
export function waitEnded(reason: string): LatchkeyError {
  return new UnavailableError(reason, `the wait was ended: ${reason}`);
}
