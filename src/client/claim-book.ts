/**
 * The records of a session, requests without an answer and holds, and the few moves that everything else is made of.
 * A record leaves in one step: out of every table, and its caller is told.
 */

import { type LatchkeyError, LockLostError, LockTimeoutError, type LossReason, UnavailableError } from "./errors.ts";
import { leaseUntil } from "./lease.ts";
import type { Ask, Entry, Held, Output } from "./session-types.ts";

/** How long after an acquire's timeout its answer may still arrive, ms. The server's word is better than our clock's. */
const OVERRUN_MS = 2_000;

export interface Request<Call> {
  /** Absent: nobody waits for the answer. */
  readonly call: Call | undefined;
  readonly frame: Ask;
  /** How long the caller waits for an answer, ms. */
  readonly patienceMs: number;
  readonly hold?: Held<Call> | undefined;
  readonly timeout?: number | undefined;
}

export class ClaimBook<Call> {
  /** The time of the present step. */
  now = 0;
  /** Nothing is over by the clock before this. */
  dueAt: number = Number.POSITIVE_INFINITY;
  /** Set while frames can be sent. */
  session: string | undefined;
  /** Set when nothing will be answered any more. */
  closed: LatchkeyError | undefined;
  readonly entries = new Map<string, Entry<Call>>();
  readonly holds = new Map<string, Held<Call>>();
  readonly emit: (output: Output<Call>) => void;
  #serial = 0;

  constructor(emit: (output: Output<Call>) => void) {
    this.emit = emit;
  }

  newId(): string {
    this.#serial += 1;
    return this.#serial.toString(36);
  }

  find(test: (hold: Held<Call>) => boolean): Held<Call> | undefined {
    for (const hold of this.holds.values()) {
      if (test(hold)) return hold;
    }
    return undefined;
  }

  /** The clock will be looked at then. */
  watch(at: number): void {
    this.dueAt = Math.min(this.dueAt, at);
  }

  /** Whether `at` has come; if not, it is watched for. */
  isDue(at: number): boolean {
    if (at <= this.now) return true;
    this.watch(at);
    return false;
  }

  ask({ call, frame, patienceMs, hold, timeout }: Request<Call>): Entry<Call> {
    const entry: Entry<Call> = {
      call,
      frame,
      timeout,
      giveUpAt: this.now + patienceMs,
      hold,
      id: this.newId(),
      sentAt: undefined,
      resendAt: Number.POSITIVE_INFINITY,
      queued: false,
      text: "",
      leaseBefore: 0,
    };
    if (this.closed !== undefined) {
      this.#tell(entry, this.closed);
      return entry;
    }
    this.entries.set(entry.id, entry);
    hold?.entries.add(entry);
    this.watch(this.giveUpAt(entry));
    this.send(entry);
    return entry;
  }

  send(entry: Entry<Call>): void {
    const { frame, hold, id } = entry;
    if (this.session === undefined) return;
    if (hold !== undefined && frame.t !== "acquire") {
      if (hold.busy) return;
      hold.busy = true;
    }
    entry.sentAt = this.now;
    entry.resendAt = Number.POSITIVE_INFINITY;
    entry.queued = false;
    if (hold !== undefined && frame.t === "extend") {
      // It may shorten the lease, as soon as it arrives.
      entry.leaseBefore = hold.leaseUntil;
      hold.leaseUntil = Math.min(hold.leaseUntil, leaseUntil(this.now, frame.ttl));
      this.watch(hold.leaseUntil);
    }
    const left = Math.max(1, Math.ceil(entry.giveUpAt - this.now));
    const timeout = entry.timeout === undefined ? undefined : entry.timeout && left;
    entry.text = JSON.stringify({ ...frame, id, timeout });
    this.emit({ kind: "send", text: entry.text });
    this.watch(this.giveUpAt(entry));
  }

  /** The same request once more is the same claim: it changes nothing, and is answered with how the claim stands. */
  repeat(entry: Entry<Call>): void {
    entry.sentAt = this.now;
    entry.queued = false;
    this.emit({ kind: "send", text: entry.text });
  }

  /** Releases a grant. `hold`: what is known of it. It goes on until the server has taken it or the lock is over. */
  letGo(call: Call | undefined, key: string, token: string, hold: Held<Call> | undefined): void {
    this.ask({ call, frame: { t: "release", key, token }, patienceMs: Number.POSITIVE_INFINITY, hold });
  }

  /** Its answer is there, or nobody wants it any more. The next request about the same hold may go. */
  remove(entry: Entry<Call>): void {
    this.entries.delete(entry.id);
    const { hold } = entry;
    if (hold === undefined) return;
    hold.entries.delete(entry);
    if (entry.frame.t === "acquire" || entry.sentAt === undefined) return;
    hold.busy = false;
    for (const next of hold.entries) {
      if (next.sentAt === undefined && next.resendAt === Number.POSITIVE_INFINITY) this.send(next);
    }
  }

  fail(entry: Entry<Call>, error: LatchkeyError): void {
    this.remove(entry);
    if (entry.hold !== undefined && entry.frame.t === "acquire") this.leave(entry.hold);
    this.#tell(entry, error);
  }

  /** Takes a request back. A claim leaves the queue; a grant that is on its way will find nobody. */
  withdraw(entry: Entry<Call>): void {
    this.remove(entry);
    if (entry.frame.t !== "acquire") return;
    if (entry.hold !== undefined) this.leave(entry.hold);
    else if (entry.sentAt !== undefined) this.cancel(entry.id);
  }

  /** A nested acquire came to nothing. */
  leave(hold: Held<Call>): void {
    hold.open -= 1;
    this.finish(hold);
  }

  /** A nested acquire that was given up may have counted all the same: then the last release was not the last. */
  finish(hold: Held<Call>): void {
    if (hold.open > 0 || hold.entries.size > 0 || !this.holds.has(hold.id)) return;
    this.letGo(undefined, hold.key, hold.token, hold);
  }

  /** Asks again as if for the first time: the claim under the old id came and went unseen, so nothing was promised. */
  renew(entry: Entry<Call>): void {
    this.entries.delete(entry.id);
    entry.id = this.newId();
    this.entries.set(entry.id, entry);
    this.send(entry);
  }

  cancel(id: string): void {
    if (this.session !== undefined) this.emit({ kind: "send", text: JSON.stringify({ t: "cancel", id }) });
  }

  /** The hold is over. First those who work under it are told, then those who wait for an answer about it. */
  lose(hold: Held<Call>, cause: LossReason | LockLostError): void {
    if (!this.holds.delete(hold.id)) return;
    const error = typeof cause === "string" ? new LockLostError(hold.key, cause) : cause;
    hold.error = error;
    if (hold.open > 0) this.emit({ kind: "lost", hold, error });
    for (const entry of hold.entries) {
      this.entries.delete(entry.id);
      this.#tell(entry, error);
    }
    hold.entries.clear();
  }

  /** When the caller of this request is told that it failed. */
  giveUpAt(entry: Entry<Call>): number {
    const answering = this.session !== undefined && entry.sentAt !== undefined;
    return entry.giveUpAt + (entry.timeout && answering ? OVERRUN_MS : 0);
  }

  giveUp(entry: Entry<Call>): void {
    this.withdraw(entry);
    const { frame, timeout } = entry;
    const key = "key" in frame ? frame.key : "";
    const silence = new UnavailableError("unavailable", "there was no answer in time");
    this.#tell(entry, timeout ? new LockTimeoutError(key) : silence);
  }

  #tell(entry: Entry<Call>, error: LatchkeyError): void {
    if (entry.call !== undefined) this.emit({ kind: "failed", call: entry.call, error });
  }
}
