/**
 * The tables of a ledger, and the moves that its rules are made of: a begin waits, an attempt starts, an attempt ends.
 * Rules of single commands stand in the files beside this one.
 */

import { Chain } from "../chain.ts";
import { Deadlines } from "../deadlines.ts";
import type { Effect } from "../effect.ts";
import type { Outbox } from "../outbox.ts";
import type { Change } from "../record.ts";
import { Begun, type LiveRecord, lasting, runningImage } from "./begun.ts";
import type { Begin, RecordCommand } from "./command.ts";
import type { LedgerLimits } from "./limits.ts";
import type { AttemptEnd, RecordImage } from "./record.ts";

/** What there is under a key: a record with a running attempt, one at rest, nothing, or no telling. */
export type Standing = LiveRecord | RecordImage | undefined | "unreadable";

export class LedgerState {
  readonly limits: LedgerLimits;
  readonly storesWaiters: boolean;
  now: number = Number.NEGATIVE_INFINITY;
  order = 0;
  readonly records: Map<string, LiveRecord> = new Map();
  /** Begins that live: who asked → request id → begin, in order of arrival. */
  readonly begins: Map<string, Map<string, Begun>> = new Map();
  readonly deadlines: Deadlines<Begun> = new Deadlines();
  beginCount = 0;
  /** Records that came to rest in this step: whoever looked the key up before it could not see that. */
  readonly rested: Map<string, RecordImage | undefined> = new Map();
  #outbox: Outbox | undefined;

  constructor(limits: LedgerLimits, storesWaiters: boolean) {
    this.limits = limits;
    this.storesWaiters = storesWaiters;
  }

  /** Everything told and changed from now on goes to this outbox. */
  enter(now: number, outbox: Outbox): void {
    this.now = now;
    this.#outbox = outbox;
  }

  tell(effect: Effect): void {
    (this.#outbox as Outbox).tell(effect);
  }

  change(change: Change): void {
    (this.#outbox as Outbox).change(change);
  }

  standing({ key, found }: RecordCommand): Standing {
    const live = this.records.get(key);
    if (live !== undefined) return live;
    if (this.rested.has(key)) return this.rested.get(key);
    if (found === undefined || found === "unreadable") return found;
    if (found.state === "running") throw new Error("the store has a running attempt that the ledger does not know");
    return found.expiresAt > this.now ? found : undefined;
  }

  findBegin(from: string, request: string): Begun | undefined {
    return this.begins.get(from)?.get(request);
  }

  /** A new begin of this record, which neither waits nor runs yet. */
  admit(command: Begin, record: LiveRecord): Begun {
    const begun = new Begun(++this.order, lasting(command), record);
    this.enterBegin(begun);
    return begun;
  }

  enterBegin(begun: Begun): void {
    const { from, request } = begun.asked;
    let requests = this.begins.get(from);
    if (requests === undefined) {
      requests = new Map();
      this.begins.set(from, requests);
    }
    requests.set(request, begun);
    this.beginCount++;
  }

  /** Last in its record's queue. */
  wait(begun: Begun, deadline: number): void {
    begun.record.queue.add(begun);
    this.deadlines.set(begun, deadline);
    if (!this.storesWaiters || !begun.asked.session) return;
    begun.stored = true;
    this.change({ kind: "waiter", waiter: { order: begun.order, asked: begun.asked, deadline } });
  }

  /** It waits no longer; whether it is over is for the caller to say. */
  leaveQueue(begun: Begun): void {
    begun.record.queue.remove(begun);
    if (!begun.stored) return;
    begun.stored = false;
    this.change({ kind: "waiter_gone", order: begun.order });
  }

  /** The begin, in no queue, becomes the running attempt of its record. */
  start(begun: Begun): void {
    const { record } = begun;
    record.attempts++;
    record.running = begun;
    record.startedAt = this.now;
    this.lease(begun, begun.asked.leaseMs);
    this.tellStarted(begun);
  }

  lease(begun: Begun, leaseMs: number): void {
    begun.leaseMs = leaseMs;
    this.deadlines.set(begun, this.now + leaseMs);
    this.change({ kind: "record", record: runningImage(begun.record, begun) });
  }

  tellStarted({ asked, record, leaseMs, deadline }: Begun): void {
    const { from: to, request, key, newAttempt: attempt } = asked;
    this.tell({ kind: "started", to, request, key, attempt, number: record.attempts, leaseMs, expiresAt: deadline });
  }

  tellInProgress({ from: to, request, key }: Begin, running: Begun | undefined): void {
    // A late timer may serve the end of a wait after the lease's own.
    const retryAfterMs = running === undefined ? 0 : Math.max(0, running.deadline - this.now);
    this.tell({ kind: "in_progress", to, request, key, retryAfterMs });
  }

  /** The begin is out of all tables; it must be in no queue. */
  end(begun: Begun): void {
    const { from, request } = begun.asked;
    this.deadlines.remove(begun);
    if (begun.record.running === begun) begun.record.running = undefined;
    const requests = this.begins.get(from);
    requests?.delete(request);
    if (requests?.size === 0) this.begins.delete(from);
    this.beginCount--;
  }

  /**
   * Nothing runs any more: the first who waits starts the next attempt. One whose wait was over before now does not, even when
   * a late timer lets both show up in one step. When nobody waits the record rests: idle after a loss, else it is gone.
   */
  pass(record: LiveRecord, lost?: { readonly attempt: Begun; readonly by: AttemptEnd }): void {
    for (let head = record.queue.first; head !== undefined; head = record.queue.first) {
      this.leaveQueue(head);
      if (head.deadline >= this.now) return this.start(head);
      this.end(head);
      this.tellInProgress(head.asked, undefined);
    }
    const idle = lost === undefined ? undefined : idleImage(record, lost.attempt, lost.by);
    this.rest(record, idle !== undefined && idle.expiresAt > this.now ? idle : undefined);
  }

  /** The record leaves memory; undefined: it leaves the store too. */
  rest(record: LiveRecord, image: RecordImage | undefined): void {
    const { key } = record;
    this.records.delete(key);
    this.rested.set(key, image);
    this.change(image === undefined ? { kind: "record_gone", key } : { kind: "record", record: image });
  }
}

export function newRecord(key: string, fingerprint: string, attempts: number): LiveRecord {
  return { key, fingerprint, attempts, running: undefined, startedAt: 0, queue: new Chain() };
}

function idleImage(record: LiveRecord, { asked }: Begun, lostBy: AttemptEnd): RecordImage {
  const { key, fingerprint, attempts, startedAt } = record;
  return {
    key,
    fingerprint,
    state: "idle",
    attempts,
    attempt: asked.newAttempt,
    ttlMs: asked.ttlMs,
    startedAt,
    expiresAt: startedAt + asked.ttlMs,
    run: undefined,
    lostBy,
    result: undefined,
    contentType: undefined,
  };
}
