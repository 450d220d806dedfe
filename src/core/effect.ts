/**
 * What an engine wants told. Effects are plain objects with an address: `to` is the `from` of the command
 * (a session's id or a caller's scope) and `request` its request id. Times are engine time in ms.
 */

import type { Mode } from "./command.ts";
import type { IdempotencyEffect, IdempotencyRefusal } from "./idempotency/effect.ts";
import type { LedgerLimitName } from "./idempotency/limits.ts";
import type { LimitName } from "./limits.ts";
import type { ClaimState, Outcome } from "./lifecycle.ts";

interface Addressed {
  readonly to: string;
  readonly request: string;
}

/** Who ended somebody else's claim, and why. */
export interface By {
  /** Absent when it was a caller without a session. */
  readonly session?: string;
  /** JSON text, as that session or claim showed it. */
  readonly meta?: string;
  readonly message?: string;
}

export interface Opened {
  readonly kind: "opened";
  readonly to: string;
}

/** All live claims of the session and those that ended and are still remembered, in ticket order. */
export interface Resumed {
  readonly kind: "resumed";
  readonly to: string;
  readonly graceMs: number;
  readonly claims: readonly ClaimSnapshot[];
}

export interface ClaimSnapshot {
  readonly request: string;
  readonly key: string;
  readonly state: ClaimState;
  readonly mode: Mode;
  readonly ticket: number;
  /** `waiting` only: 1 = next. */
  readonly position?: number;
  /** These four: `holding` only. */
  readonly token?: string;
  readonly fence?: number;
  readonly depth?: number;
  /** Absent: the session is the lease. */
  readonly expiresAt?: number;
  /** The lease as last asked, ms. */
  readonly ttlMs?: number;
  /** `gone` only. */
  readonly outcome?: Outcome;
}

/** A session is over: by its drop without grace, the end of its grace, its bye, or an operator. Sent after its claims' `ended`. */
export interface SessionEnded {
  readonly kind: "session_ended";
  readonly to: string;
  readonly reason: "dropped" | "bye" | "revoked";
  readonly message?: string;
}

export interface Queued extends Addressed {
  readonly kind: "queued";
  readonly key: string;
  /** Order of arrival in the space; grants of a key go by it. */
  readonly ticket: number;
  /** 1 = next. */
  readonly position: number;
}

export interface Granted extends Addressed {
  readonly kind: "granted";
  readonly key: string;
  readonly token: string;
  readonly fence: number;
  readonly ticket: number;
  readonly mode: Mode;
  readonly reentrant: boolean;
  readonly depth: number;
  /** The lease as last asked, ms. Absent: the session is the lease. */
  readonly ttlMs?: number;
  readonly expiresAt?: number;
}

/** A claim is gone: exactly once per claim, and once more with `again` for each repeat of its request. */
export interface Ended extends Addressed {
  readonly kind: "ended";
  readonly key: string;
  readonly outcome: Outcome;
  /** Whether the claim had been granted before. */
  readonly held: boolean;
  readonly by?: By;
  readonly again?: true;
}

/** The shown token no longer holds. `unknown`: so long gone that the reason is forgotten, or never held (acquire only). */
export interface Lost extends Addressed {
  readonly kind: "lost";
  readonly key: string;
  readonly reason: Outcome | "unknown";
  readonly by?: By;
}

export interface Extended extends Addressed {
  readonly kind: "extended";
  readonly key: string;
  readonly token: string;
  readonly fence: number;
  readonly ttlMs: number;
  readonly expiresAt: number;
}

/** `depth` 0: the key is free of this claim. `already`: it was so before this command. */
export interface Released extends Addressed {
  readonly kind: "released";
  readonly key: string;
  readonly depth: number;
  readonly already: boolean;
}

/** The ask stands as it was asked for, or is withdrawn. */
export interface AskTold extends Addressed {
  readonly kind: "asked";
}

export interface Revoked extends Addressed {
  readonly kind: "revoked";
  /** Claims that were ended. */
  readonly count: number;
}

export interface Holder {
  /** Absent for a caller without a session and for a kept lock whose session is over. */
  readonly session?: string;
  /** Its session's. */
  readonly user?: string;
  readonly mode: Mode;
  readonly fence: number;
  /** When it was granted. */
  readonly since: number;
  readonly expiresAt?: number;
  /** The claim's, else its session's. */
  readonly meta?: string;
}

/** Somebody who waits and asks for the key. */
export interface Asking {
  /** Absent for a caller without a session. */
  readonly session?: string;
  /** Its session's. */
  readonly user?: string;
  readonly message?: string;
  /** The claim's, else its session's. */
  readonly meta?: string;
  /** Since when it asks so. */
  readonly since: number;
}

export interface KeyStatus {
  readonly key: string;
  /** In order of grant. */
  readonly holders: readonly Holder[];
  readonly waiting: number;
  /** The first of those who wait and ask for the key, in their order, at most `ASKS_TOLD_MAX`. Absent: nobody asks. For who holds the key alone. */
  readonly asks?: readonly Asking[];
  /** Set for a semaphore. */
  readonly limit?: number;
  /** Of the sessions that were asked about, those that wait: each with the place of its first waiting claim, in queue order. Absent: none. */
  readonly places?: readonly Place[];
  /** Those who wait, in their order, at most `QUEUE_TOLD_MAX`. Only in a list that asks for it. */
  readonly queue?: readonly Waiting[];
}

export interface Waiting {
  /** Absent for a caller without a session. */
  readonly session?: string;
  readonly mode: Mode;
}

export interface Place {
  readonly session: string;
  /** 1 = next. */
  readonly position: number;
}

export interface StatusTold extends Addressed, KeyStatus {
  readonly kind: "status";
}

export interface ListTold extends Addressed {
  readonly kind: "list";
  readonly keys: readonly KeyStatus[];
  /** Whether keys follow after the last one. */
  readonly more: boolean;
}

export type RefusalCode =
  | "limit"
  | "limit_mismatch"
  | "depth_limit"
  | "request_mismatch"
  | "unknown_token"
  | "session_ended"
  | "not_waiting"
  | "shared_holders"
  | IdempotencyRefusal;

/** Nothing was changed. Not remembered: a repeat of the request is judged anew. */
export interface Refused extends Addressed {
  readonly kind: "refused";
  readonly code: RefusalCode;
  readonly key?: string;
  /** `limit` only: which one. */
  readonly limit?: LimitName | LedgerLimitName;
}

export type LockEffect =
  | Opened
  | Resumed
  | SessionEnded
  | Queued
  | Granted
  | Ended
  | Lost
  | Extended
  | Released
  | AskTold
  | Revoked
  | StatusTold
  | ListTold
  | Refused;

export type Effect = LockEffect | IdempotencyEffect;
