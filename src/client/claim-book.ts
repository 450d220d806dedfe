/**
 * What a session has asked and what it holds, the few moves that everything else is made of, and what is over by the clock. A record
 * leaves in one step: out of every table, and its caller is told. The connection is the session machine's business, what the
 * server says is in `claim-answers.ts`. Times are the client's clock, ms.
 */

import type { ClaimTold, Granted as GrantedFrame } from "../protocol/server-frames.ts";
import type { Addition, Asked } from "./addition.ts";
import { NEVER } from "./clock.ts";
import { type By, errorOf, type LatchkeyError, LockLostError, type LossReason, type Refusal } from "./errors.ts";
import type { Heartbeat } from "./heartbeat.ts";
import { leaseUntil } from "./lease.ts";
import { Grant } from "./lock.ts";
import type { Ask, Call, Entry, Held, Over, Wanted } from "./session-types.ts";

/** How long a request without a timeout of its own may be without an answer, ms. */
const ANSWER_MS = 10_000;

/** How long after an acquire's timeout its answer may still arrive, ms. The server's word is better than our clock's. */
const OVERRUN_MS = 2_000;

export class ClaimBook {
  /** The time of the present step. */
  now = 0;
  /** Nothing is over by the clock before this. */
  dueAt: number = NEVER;
  /** Set while frames can be sent. */
  session: string | undefined;
  readonly entries = new Map<string, Entry>();
  readonly holds = new Map<string, Held>();
  readonly heartbeat: Heartbeat;
  readonly added: Addition | undefined;
  /** Done when the step is over. */
  readonly later: (act: () => void) => void;
  readonly #send: (text: string) => void;
  /** Set when nothing will be answered any more. */
  #closed: LatchkeyError | undefined;
  #serial = 0;

  /** `send`: a text, when the step is over. */
  constructor(
    heartbeat: Heartbeat,
    later: (act: () => void) => void,
    send: (text: string) => void,
    added: Addition | undefined,
  ) {
    this.heartbeat = heartbeat;
    this.later = later;
    this.#send = send;
    this.added = added;
  }

  // What callers want.

  acquire(call: Call, key: string, { reentrant, timeout = NEVER, ttl, ...rest }: Wanted): Entry {
    const hold = reentrant ? this.find((held) => held.key === key && held.open > 0) : undefined;
    if (hold) hold.open += 1;
    const wanted = hold ? { token: hold.token, nest: true } : rest;
    return this.ask(call, { t: "acquire", key, ttl, ...wanted, timeout }, hold, "timeout");
  }

  /** By default for as long as asked last; the server refuses it when there is no lease at all. */
  extend(call: Call, hold: Held, ttl: number | undefined): Entry {
    const { key, token } = hold;
    return this.ask(call, { t: "extend", key, token, ttl: (ttl ?? hold.ttl) as number }, hold);
  }

  /** One handle's release. */
  release(call: Call, hold: Held): Entry {
    hold.open -= 1;
    return this.letGo(call, hold, hold);
  }

  /** By raw token, or without one. */
  request(call: Call, frame: Asked, over?: Over): Entry {
    return this.ask(call, frame, "token" in frame ? this.byToken(frame.token) : undefined, over);
  }

  /** Takes a request back, if it has no answer. A claim leaves the queue; a grant that is on its way will find nobody. */
  giveUp(entry: Entry, error: Error): void {
    const { id, over, hold } = entry;
    // The server knows a claim by the id of its acquire; a nested acquire is part of another claim.
    if (this.entries.has(id) && over && !hold && isSent(entry)) this.cancel(id, over);
    this.fail(entry, error);
  }

  // What the clock and the connection do.

  /** Serves what is over by the clock. */
  serve(): void {
    if (this.now < this.dueAt) return;
    this.dueAt = NEVER;
    for (const hold of this.holds.values()) {
      // A last release that is on its way decides by its answer: a local end would report a false loss.
      if ((hold.open > 0 || !this.session) && this.#isDue(hold.leaseUntil)) this.lose(hold, "expired");
    }
    for (const entry of this.entries.values()) {
      this.#sendDue(entry);
      if (!this.#isDue(this.#endOf(entry))) continue;
      const code = (entry.frame.timeout && entry.over) || "unavailable";
      this.giveUp(entry, this.errorFor(entry, { code, detail: "not answered in time" }));
    }
  }

  /** Sends what waited for a connection. */
  connected(): void {
    for (const entry of this.entries.values()) {
      // What an earlier connection was to wait for is nothing to this one.
      entry.sendAt = 0;
      this.#sendDue(entry);
    }
  }

  /** The connection is lost and the session may be resumed: what the server does not know of then is sent again. */
  suspended(): void {
    this.session = undefined;
    // An overrun was for an answer, and there is none now.
    this.dueAt = this.now;
  }

  /**
   * The session is over. What it held is lost; waiting acquires, to whom nothing was promised, queue anew in the next one, unless
   * there is an error for them.
   */
  sessionEnded(error?: LatchkeyError): void {
    this.suspended();
    this.loseAll("dropped");
    for (const entry of this.entries.values()) {
      entry.sentAt = undefined;
      if (error && entry.over) this.fail(entry, error);
    }
  }

  /** All that is held through the session; `kept` ones, which go on without it, only when nobody can use them any more. */
  loseAll(reason: "dropped" | "closed", kept: boolean = false): void {
    this.added?.allLost(this, reason);
    for (const hold of this.holds.values()) {
      if (kept || !hold.keep) this.lose(hold, reason);
    }
  }

  close(error: LatchkeyError): void {
    this.#closed = error;
    for (const entry of this.entries.values()) this.fail(entry, error);
    this.dueAt = NEVER;
  }

  // The moves.

  find(test: (hold: Held) => boolean): Held | undefined {
    for (const hold of this.holds.values()) {
      if (test(hold)) return hold;
    }
    return undefined;
  }

  byToken(token: string): Held | undefined {
    return this.find((held) => held.token === token);
  }

  /** Without a `call` nobody waits for the answer. */
  ask(call: Call | undefined, frame: Ask, hold?: Held, over?: Over): Entry {
    const giveUpAt = this.now + (frame.timeout || ANSWER_MS);
    const entry: Entry = { call, frame, hold, over, giveUpAt, sendAt: 0, id: this.#newId() };
    const error = hold?.loss?.() ?? this.#closed;
    if (error) call?.reject(error);
    else {
      this.entries.set(entry.id, entry);
      hold?.entries.add(entry);
      this.#sendDue(entry);
      this.#isDue(this.#endOf(entry));
    }
    return entry;
  }

  /** The same request once more is the same claim: it changes nothing, and is answered with how the claim stands. */
  repeat(entry: Entry): void {
    this.#sendText(entry, entry.text ?? "");
  }

  /** Asks again as if for the first time: the claim under the old id came and went unseen, so nothing was promised. */
  renew(entry: Entry): void {
    this.entries.delete(entry.id);
    entry.id = this.#newId();
    entry.sentAt = undefined;
    this.entries.set(entry.id, entry);
    this.#sendDue(entry);
  }

  /** The server could not serve it: asks again after so long. */
  postpone(entry: Entry, ms: number): void {
    entry.sentAt = undefined;
    entry.sendAt = this.now + ms;
    this.#isDue(entry.sendAt);
  }

  /** Takes back what can be waited for. */
  cancel(id: string, over: Over): void {
    if (this.session) this.#send(JSON.stringify({ t: over === "timeout" ? "cancel" : "cancel_begin", id }));
  }

  /** Releases a grant. `hold`: what is known of it. It goes on until the server has taken it or the lock is over. */
  letGo(call: Call | undefined, { key, token }: Pick<Held, "key" | "token">, hold?: Held): Entry {
    return this.ask(call, { t: "release", key, token, timeout: NEVER }, hold);
  }

  /** Its answer is there, or nobody wants it any more. The next request about the same hold may go. False: it was not there. */
  remove(entry: Entry): boolean {
    const { hold } = entry;
    if (!this.entries.delete(entry.id)) return false;
    hold?.entries.delete(entry);
    for (const next of hold?.entries ?? []) this.#sendDue(next);
    return true;
  }

  errorFor({ frame }: Entry, refusal: Refusal): LatchkeyError {
    return (this.added?.errorOf ?? errorOf)(refusal, "key" in frame ? frame.key : "");
  }

  refuse(entry: Entry, refusal: Refusal): void {
    this.fail(entry, this.errorFor(entry, refusal));
  }

  fail(entry: Entry, error: Error): void {
    const { call, frame, hold } = entry;
    if (!this.remove(entry)) return;
    if (hold && frame.t === "acquire") {
      // A nested acquire came to nothing.
      hold.open -= 1;
      this.finish(hold);
    }
    call?.reject(error);
  }

  /** The entry is granted, at least until then. */
  hold(entry: Entry, told: GrantedFrame | ClaimTold, until: number): void {
    const { id, frame, sentAt = this.now } = entry;
    let { hold } = entry;
    if (!hold && until <= this.now) {
      // It took so long to arrive that nothing is left of it. Nobody must take it for a lock.
      this.fail(entry, new LockLostError(told.key, "expired"));
      this.letGo(undefined, told as GrantedFrame);
      return;
    }
    this.remove(entry);
    if (!hold) {
      hold = {
        ...(told as GrantedFrame),
        session: this.session,
        keep: (frame as Wanted).keep,
        grant: new Grant(),
        leaseUntil: until,
        askedAt: sentAt,
        open: 1,
        entries: new Set(),
      };
      this.holds.set(id, hold);
    }
    // Re-entry never shortens a lease.
    hold.ttl = told.ttl ?? hold.ttl;
    this.setLease(hold, Math.max(hold.leaseUntil, until));
    entry.call?.resolve(hold);
  }

  /** A nested acquire that was given up may have counted all the same: then the last release was not the last. */
  finish(hold: Held): void {
    if (hold.open === 0 && hold.entries.size === 0 && !hold.loss) this.letGo(undefined, hold, hold);
  }

  setLease(hold: Held, until: number): void {
    hold.leaseUntil = until;
    this.#isDue(until);
  }

  /** The hold is over. First those who work under it are told, then those who wait for an answer about it. */
  lose(hold: Held, reason: LossReason, by?: By): void {
    if (!this.holds.delete(hold.id)) return;
    // An error costs more than all the rest of a release, and after most of them nobody wants to know.
    const loss = (hold.loss = () => new LockLostError(hold.key, reason, by));
    if (hold.open > 0) this.later(() => hold.grant.lose(loss()));
    for (const entry of hold.entries) {
      this.entries.delete(entry.id);
      entry.call?.reject(loss());
    }
  }

  /** Whether an extend or a release is on its way. Only one at a time: a repeat after a resume is recognised for the latest alone. */
  isBusy(hold: Held): boolean {
    for (const entry of hold.entries) {
      if (entry.frame.t !== "acquire" && isSent(entry)) return true;
    }
    return false;
  }

  /** Sends what was not sent yet, if it can go now. */
  #sendDue(entry: Entry): void {
    const { frame, hold, id } = entry;
    if (!this.session || isSent(entry) || !this.#isDue(entry.sendAt)) return;
    if (hold && frame.t !== "acquire") {
      if (this.isBusy(hold)) return;
      if (frame.t === "extend") {
        // It may shorten the lease, as soon as it arrives.
        entry.leaseBefore = hold.leaseUntil;
        this.setLease(hold, Math.min(hold.leaseUntil, leaseUntil(this.now, frame.ttl)));
      }
    }
    const left = Math.max(1, Math.ceil(entry.giveUpAt - this.now));
    const timeout = left === NEVER ? undefined : frame.timeout && left;
    this.#sendText(entry, JSON.stringify({ ...frame, id, timeout }));
    entry.afterSend?.();
  }

  #sendText(entry: Entry, text: string): void {
    entry.sentAt = this.now;
    entry.queued = false;
    entry.text = text;
    this.#send(text);
  }

  /** When the caller of this request is told that it failed. */
  #endOf(entry: Entry): number {
    return entry.giveUpAt + (entry.frame.timeout && this.session && isSent(entry) ? OVERRUN_MS : 0);
  }

  /** Whether `at` has come; if not, the clock will be looked at then. */
  #isDue(at: number): boolean {
    if (at > this.now) this.dueAt = Math.min(this.dueAt, at);
    return at <= this.now;
  }

  #newId(): string {
    this.#serial += 1;
    return this.#serial.toString(36);
  }
}

/** Whether it is sent in this session. */
function isSent({ sentAt }: Entry): boolean {
  return sentAt !== undefined;
}
