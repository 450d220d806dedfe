/**
 * The idempotency records of one space: a mutable, synchronous machine without clock, randomness or promise, beside the lock
 * engine. The rules that it follows stand in RULES.md. It never throws for what a client did; it throws on a bug.
 */

import type { Outbox } from "../outbox.ts";
import { cancelBegin, complete, drop, expire, extendAttempt, fail, forget, recordStatus } from "./attempt.ts";
import { begin } from "./begin.ts";
import type { IdempotencyCommand } from "./command.ts";
import { DEFAULT_LEDGER_LIMITS, type LedgerLimits } from "./limits.ts";
import { rebuild } from "./rebuild.ts";
import type { IdempotencyImage } from "./record.ts";
import { LedgerState } from "./state.ts";

export interface LedgerOptions {
  readonly limits?: Partial<LedgerLimits>;
  /** `all` lists the waits of sessions as changes, too. Records always are. */
  readonly persist?: "outliving" | "all";
}

/** How full the tables are. All are zero once everything is over. */
export interface LedgerCounts {
  /** Records with a running attempt. */
  readonly running: number;
  readonly waiting: number;
  readonly requests: number;
  readonly deadlines: number;
}

export class Ledger {
  readonly #state: LedgerState;

  constructor({ limits, persist }: LedgerOptions = {}) {
    this.#state = new LedgerState({ ...DEFAULT_LEDGER_LIMITS, ...limits }, persist === "all");
  }

  /**
   * Serves everything due at or before `now`, then the command, if there is one. The outbox is added to, not cleared. `now` must not
   * run backwards: it is the engine's, which sees to that.
   */
  step(command: IdempotencyCommand | undefined, now: number, outbox: Outbox): void {
    const state = this.#state;
    state.enter(now, outbox);
    serveDue(state);
    if (command !== undefined) serve(state, command);
    state.rested.clear();
  }

  /** These sessions ended in the step that is about to be served: before anything due, since who is gone starts nothing. */
  drop(sessions: readonly string[], now: number, outbox: Outbox): void {
    this.#state.enter(now, outbox);
    drop(this.#state, sessions);
  }

  /** When the next wait or lease ends, in engine time; Infinity when nothing lives. It may be too early, as the engine's, with `wokenAt`. */
  nextDeadline(wokenAt?: number): number {
    return this.#state.deadlines.next(wokenAt);
  }

  /** Whether the key's record has a running attempt: then nothing has to be found for a command about it. */
  isLive(key: string): boolean {
    return this.#state.records.has(key);
  }

  /** Whether nothing runs, and so nobody waits. */
  get isEmpty(): boolean {
    return this.#state.records.size === 0;
  }

  /** Takes back what a store kept, on a fresh ledger, and serves what ended meanwhile. */
  restore(image: IdempotencyImage, isLiveSession: (session: string) => boolean, now: number, outbox: Outbox): void {
    const state = this.#state;
    state.enter(now, outbox);
    const over = rebuild(state, image, isLiveSession);
    drop(state, over);
    serveDue(state);
    state.rested.clear();
  }

  counts(): LedgerCounts {
    const state = this.#state;
    let waiting = 0;
    let requests = 0;
    for (const record of state.records.values()) waiting += record.queue.count;
    for (const own of state.begins.values()) requests += own.size;
    return { running: state.records.size, waiting, requests, deadlines: state.deadlines.count };
  }
}

/** One at a time, earliest first: what one of them sets free may be due itself. */
function serveDue(state: LedgerState): void {
  for (;;) {
    const due = state.deadlines.firstDue(state.now);
    if (due === undefined) return;
    expire(state, due);
  }
}

function serve(state: LedgerState, command: IdempotencyCommand): void {
  switch (command.kind) {
    case "begin":
      return begin(state, command);
    case "complete":
      return complete(state, command);
    case "fail":
      return fail(state, command);
    case "extend_attempt":
      return extendAttempt(state, command);
    case "forget":
      return forget(state, command);
    case "record_status":
      return recordStatus(state, command);
    case "cancel_begin":
      return cancelBegin(state, command);
  }
}
