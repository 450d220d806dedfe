/**
 * The lock engine of one space: a mutable, synchronous machine without clock, randomness or promise. The rules
 * that it follows stand in RULES.md. It never throws for what a client did; it throws on a bug.
 */

import { acquire } from "./acquire.ts";
import { ask, hand } from "./asking.ts";
import type { LockCommand } from "./command.ts";
import { cancel, extend, release, revokeKey } from "./holding.ts";
import type { Latch } from "./latch.ts";
import { DEFAULT_LIMITS, type EngineLimits } from "./limits.ts";
import type { Outbox } from "./outbox.ts";
import { list, status } from "./reads.ts";
import type { Image } from "./record.ts";
import { rebuild } from "./rebuild.ts";
import { Session } from "./session.ts";
import { bye, drop, lose, open, resume, revokeSession } from "./sessions.ts";
import { State } from "./state.ts";

export interface EngineOptions {
  readonly limits?: Partial<EngineLimits>;
  /** Tickets and fences go on above this number. */
  readonly serial?: number;
  /** No grant before this engine time: who held before a restart may not know yet that it is over. */
  readonly quarantineUntil?: number;
  /** `outliving` lists as changes only what outlives its connection, `all` everything that lives. */
  readonly persist?: "outliving" | "all";
}

/** How full the tables are. All are zero once everything is over and forgotten. */
export interface EngineCounts {
  readonly claims: number;
  readonly waiting: number;
  readonly holding: number;
  readonly keys: number;
  readonly sessions: number;
  readonly deadlines: number;
  readonly tokens: number;
  readonly remembered: number;
  readonly requests: number;
}

export class Engine {
  readonly #state: State;

  constructor(options: EngineOptions = {}) {
    this.#state = new State(
      { ...DEFAULT_LIMITS, ...options.limits },
      options.persist === "all",
      options.serial ?? 0,
      options.quarantineUntil ?? Number.NEGATIVE_INFINITY,
    );
  }

  /** The latest number given out; a store must make sure that no later start gives it out again. */
  get serial(): number {
    return this.#state.serial;
  }

  /** The time that counts: the latest that it was told, since time never runs backwards. */
  get now(): number {
    return this.#state.now;
  }

  hasSession(id: string): boolean {
    return this.#state.sessions.has(id);
  }

  /** Serves everything due at or before `now`, then the command. The outbox is added to, not cleared. */
  step(command: LockCommand, now: number, outbox: Outbox): void {
    const state = this.#state;
    state.begin(now, outbox);
    serveDue(state);
    serve(state, command);
  }

  /**
   * When the engine next has something to do by itself, in engine time; Infinity when never. Where a wake-up is dear,
   * forgetting may wait for the next multiple of `forgetEveryMs`: late, it only costs room. It is never too late, but it
   * may be too early: when very many leases were extended, and when it is not before `wokenAt`, at which the caller
   * wakes the engine anyway.
   */
  nextDeadline(forgetEveryMs?: number, wokenAt?: number): number {
    const state = this.#state;
    const forgetAt = state.remembered.next();
    return Math.min(
      state.deadlines.next(wokenAt),
      forgetEveryMs === undefined ? forgetAt : Math.ceil(forgetAt / forgetEveryMs) * forgetEveryMs,
      state.isQuarantined ? state.quarantineUntil : Number.POSITIVE_INFINITY,
    );
  }

  /** Takes back what a store kept, on a fresh engine, and serves what became due meanwhile. */
  restore(image: Image, now: number, outbox: Outbox): void {
    const state = this.#state;
    state.begin(now, outbox);
    rebuild(state, image);
    serveDue(state);
    promoteAll(state);
  }

  counts(): EngineCounts {
    const state = this.#state;
    let waiting = 0;
    let holding = 0;
    let requests = 0;
    for (const latch of state.latches.values()) {
      waiting += latch.waiting;
      holding += latch.holders.count;
    }
    for (const session of state.sessions.values()) requests += session.requests?.size ?? 0;
    for (const scope of state.scopes.values()) requests += scope.size;
    return {
      claims: waiting + holding,
      waiting,
      holding,
      keys: state.latches.size,
      sessions: state.sessions.size,
      deadlines: state.deadlines.count,
      tokens: state.tokens.size,
      remembered: state.remembered.count,
      requests,
    };
  }
}

function serve(state: State, command: LockCommand): void {
  switch (command.kind) {
    case "acquire":
      return acquire(state, command);
    case "release":
      return release(state, command);
    case "cancel":
      return cancel(state, command);
    case "extend":
      return extend(state, command);
    case "hand":
      return hand(state, command);
    case "ask":
      return ask(state, command);
    case "open":
      return open(state, command);
    case "resume":
      return resume(state, command);
    case "drop":
      return drop(state, command);
    case "bye":
      return bye(state, command);
    case "revoke_key":
      return revokeKey(state, command);
    case "revoke_session":
      return revokeSession(state, command);
    case "status":
      return status(state, command);
    case "list":
      return list(state, command);
    case "tick":
      return;
  }
}

/** One at a time, earliest first: what one of them sets free may be due itself. */
function serveDue(state: State): void {
  for (;;) {
    const due = state.deadlines.firstDue(state.now);
    const at = due?.deadline ?? Number.POSITIVE_INFINITY;
    if (isQuarantineDue(state, at)) {
      state.quarantineUntil = Number.NEGATIVE_INFINITY;
      promoteAll(state);
    } else if (due === undefined) break;
    else if (due instanceof Session) lose(state, due);
    else {
      const latch = due.latch as Latch;
      state.end(due, due.state === "waiting" ? "timed_out" : "expired");
      state.promote(latch);
    }
  }
  for (;;) {
    const claim = state.remembered.firstDue(state.now);
    if (claim === undefined) break;
    state.forget(claim);
  }
}

function isQuarantineDue(state: State, before: number): boolean {
  const { quarantineUntil } = state;
  if (quarantineUntil === Number.NEGATIVE_INFINITY) return false;
  return quarantineUntil <= state.now && quarantineUntil <= before;
}

/** Every key with waiters, the one whose head came first first. */
function promoteAll(state: State): void {
  const waited: Latch[] = [];
  for (const latch of state.latches.values()) if (latch.waiting > 0) waited.push(latch);
  waited.sort((a, b) => headTicket(a) - headTicket(b));
  for (const latch of waited) state.promote(latch);
}

function headTicket(latch: Latch): number {
  return latch.head?.ticket ?? Number.POSITIVE_INFINITY;
}
