/**
 * The records of a session, requests without an answer and holds, and the few moves that everything else is made of.
 * A record leaves in one step: out of every table, and its caller is told.
 */

import { NEVER } from "./clock.ts";
import { type ErrorOf, type LatchkeyError, LockLostError, type LossReason, UnavailableError } from "./errors.ts";
import { leaseUntil } from "./lease.ts";
import type { Ask, Entry, Held, Output, Wait } from "./session-types.ts";

/** How long a request without a timeout of its own may be without an answer, ms. */
const ANSWER_MS = 10_000;

/** How long after an acquire's timeout its answer may still arrive, ms. The server's word is better than our clock's. */
const OVERRUN_MS = 2_000;

export class ClaimBook<Call> {
  /** The time of the present step. */
  now = 0;
  /** Nothing is over by the clock before this. */
  dueAt: number = NEVER;
  /** Set while frames can be sent. */
  session: string | undefined;
  /** Set when nothing will be answered any more. */
  closed: LatchkeyError | undefined;
  readonly entries = new Map<string, Entry<Call>>();
  readonly holds = new Map<string, Held<Call>>();
  readonly emit: (output: Output<Call>) => void;
  readonly errorOf: ErrorOf;
  #serial = 0;

  constructor(emit: (output: Output<Call>) => void, errorOf: ErrorOf) {
    this.emit = emit;
    this.errorOf = errorOf;
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

  /** Without a `call` nobody waits for the answer. `patienceMs`: how long the caller does. */
  ask(
    call: Call | undefined,
    frame: Ask,
    hold: Held<Call> | undefined,
    patienceMs: number = ANSWER_MS,
    timeout?: number,
    wait?: Wait,
  ): Entry<Call> {
    const entry: Entry<Call> = { call, frame, hold, timeout, wait, giveUpAt: this.now + patienceMs, id: this.#newId() };
    const error = (hold && lossOf(hold)) ?? this.closed;
    if (error === undefined) {
      this.entries.set(entry.id, entry);
      hold?.entries.add(entry);
      this.send(entry);
      this.watch(this.giveUpAt(entry));
    } else this.#tell(entry, error);
    return entry;
  }

  send(entry: Entry<Call>): void {
    const { frame, hold, id, timeout } = entry;
    if (this.session === undefined) return;
    if (hold !== undefined && frame.t !== "acquire") {
      if (hold.busy) return;
      hold.busy = true;
      if (frame.t === "extend") {
        // It may shorten the lease, as soon as it arrives.
        entry.leaseBefore = hold.leaseUntil;
        this.setLease(hold, Math.min(hold.leaseUntil, leaseUntil(this.now, frame.ttl)));
      }
    }
    delete entry.resendAt;
    const left = Math.max(1, Math.ceil(entry.giveUpAt - this.now));
    this.#sendText(entry, JSON.stringify({ ...frame, id, timeout: timeout && left }));
    entry.afterSend?.();
  }

  /** The same request once more is the same claim: it changes nothing, and is answered with how the claim stands. */
  repeat(entry: Entry<Call>): void {
    this.#sendText(entry, entry.text ?? "");
  }

  /** Asks again as if for the first time: the claim under the old id came and went unseen, so nothing was promised. */
  renew(entry: Entry<Call>): void {
    this.entries.delete(entry.id);
    entry.id = this.#newId();
    this.entries.set(entry.id, entry);
    this.send(entry);
  }

  cancel(id: string, t: Wait["cancel"] = "cancel"): void {
    if (this.session !== undefined) this.emit({ kind: "send", text: JSON.stringify({ t, id }) });
  }

  /** Releases a grant. `hold`: what is known of it. It goes on until the server has taken it or the lock is over. */
  letGo(
    call: Call | undefined,
    { key, token }: Pick<Held<Call>, "key" | "token">,
    hold: Held<Call> | undefined,
  ): Entry<Call> {
    return this.ask(call, { t: "release", key, token }, hold, NEVER);
  }

  /** Its answer is there, or nobody wants it any more. The next request about the same hold may go. */
  remove(entry: Entry<Call>): void {
    const { hold } = entry;
    this.entries.delete(entry.id);
    if (hold === undefined) return;
    hold.entries.delete(entry);
    if (entry.frame.t === "acquire" || entry.sentAt === undefined) return;
    hold.busy = false;
    for (const next of hold.entries) {
      if (next.sentAt === undefined && (next.resendAt ?? 0) <= this.now) this.send(next);
    }
  }

  fail(entry: Entry<Call>, error: LatchkeyError): void {
    this.remove(entry);
    this.#leave(entry);
    this.#tell(entry, error);
  }

  /** Takes a request back. A claim leaves the queue; a grant that is on its way will find nobody. */
  withdraw(entry: Entry<Call>): void {
    this.remove(entry);
    this.#leave(entry);
    // The server knows a claim by the id of its acquire; a nested acquire is part of another claim.
    const { wait, sentAt, hold } = entry;
    if (wait !== undefined && sentAt !== undefined && hold === undefined) this.cancel(entry.id, wait.cancel);
  }

  /** A nested acquire that was given up may have counted all the same: then the last release was not the last. */
  finish(hold: Held<Call>): void {
    if (hold.open === 0 && hold.entries.size === 0 && hold.loss === undefined) this.letGo(undefined, hold, hold);
  }

  setLease(hold: Held<Call>, until: number): void {
    hold.leaseUntil = until;
    this.watch(until);
  }

  /** The hold is over. First those who work under it are told, then those who wait for an answer about it. */
  lose(hold: Held<Call>, cause: LossReason | LockLostError): void {
    if (hold.loss !== undefined) return;
    hold.loss = cause;
    this.holds.delete(hold.id);
    // An error costs more than all the rest of a release, and after most of them nobody wants to know.
    if (hold.open === 0 && hold.entries.size === 0) return;
    const error = lossOf(hold) as LockLostError;
    if (hold.open > 0) this.emit({ kind: "lost", hold, error });
    for (const entry of hold.entries) {
      this.entries.delete(entry.id);
      this.#tell(entry, error);
    }
  }

  /** When the caller of this request is told that it failed. */
  giveUpAt({ giveUpAt, sentAt, timeout }: Entry<Call>): number {
    return timeout && this.session !== undefined && sentAt !== undefined ? giveUpAt + OVERRUN_MS : giveUpAt;
  }

  giveUp(entry: Entry<Call>): void {
    this.withdraw(entry);
    const isWait = entry.timeout !== undefined && entry.timeout > 0;
    const silence = new UnavailableError("unavailable", "not answered in time");
    this.#tell(entry, isWait ? this.waitIsOver(entry) : silence);
  }

  /** `told`: what the server says besides. */
  waitIsOver(entry: Entry<Call>, told?: object): LatchkeyError {
    return this.errorOf({ ...told, code: entry.wait?.over ?? "timeout" }, keyOf(entry));
  }

  #sendText(entry: Entry<Call>, text: string): void {
    entry.sentAt = this.now;
    entry.queued = false;
    entry.text = text;
    this.emit({ kind: "send", text });
  }

  /** A nested acquire came to nothing. */
  #leave({ frame, hold }: Entry<Call>): void {
    if (hold === undefined || frame.t !== "acquire") return;
    hold.open -= 1;
    this.finish(hold);
  }

  #tell({ call }: Entry<Call>, error: LatchkeyError): void {
    if (call !== undefined) this.emit({ kind: "failed", call, error });
  }

  #newId(): string {
    this.#serial += 1;
    return this.#serial.toString(36);
  }
}

/** How the hold ended; undefined: it has not. */
function lossOf(hold: Held<unknown>): LockLostError | undefined {
  if (typeof hold.loss === "string") hold.loss = new LockLostError(hold.key, hold.loss);
  return hold.loss;
}

export function keyOf({ frame }: Entry<unknown>): string {
  return "key" in frame ? frame.key : "";
}
