/**
 * What outlives a process, as plain records: the shapes that an engine hands to a store and is restored from.
 * Times are engine time in ms; a store that must survive a restart translates them to wall time.
 */

import type { Acquire } from "./command.ts";
import type { By } from "./effect.ts";
import type { IdempotencyChange, IdempotencyImage } from "./idempotency/record.ts";
import type { ClaimState, Outcome } from "./lifecycle.ts";

export interface ClaimRecord {
  /** Order of arrival; unique in its space for ever. */
  readonly ticket: number;
  /** The acquire that made the claim, by which a repeat is recognised. */
  readonly asked: Acquire;
  /** The id of the session that the claim ends with; absent for callers and for kept locks whose session is over. */
  readonly session: string | undefined;
  readonly state: ClaimState;
  /** When its wait, its lease or its memory ends; Infinity when nothing but its session ends it. */
  readonly deadline: number;
  /** 0 until granted. */
  readonly fence: number;
  readonly grantedAt: number;
  /** The lease as last asked, ms; undefined when the session is the lease. */
  readonly ttlMs: number | undefined;
  readonly depth: number;
  readonly outcome: Outcome | undefined;
  readonly by: By | undefined;
  /** The request ids of the latest nested acquires with the depth each reached, oldest first. */
  readonly nested: readonly NestRecord[] | undefined;
  /** `waiting` only. */
  readonly ask: AskRecord | undefined;
  /** Its request id leads nowhere any more: the answer reached nobody, and a repeat is a fresh claim. */
  readonly abandoned: boolean;
  /** The latest release that left depth, so that its repeat does not count twice. */
  readonly unnested: NestRecord | undefined;
}

/** A waiter's word to who holds the key. */
export interface AskRecord {
  readonly message?: string;
  readonly since: number;
}

export interface NestRecord {
  readonly from: string;
  readonly request: string;
  readonly depth: number;
}

export interface SessionRecord {
  readonly id: string;
  readonly secret: string;
  readonly graceMs: number;
  readonly meta: string | undefined;
  readonly user: string | undefined;
  /** Its place in the order of arrivals, among the tickets. */
  readonly order: number;
  /** When the grace of a suspended session ends; Infinity while it is connected. */
  readonly deadline: number;
}

/**
 * One line of what a step changed. A record is the engine's own object, so it shows the state of now, not
 * that of the step: committing a record twice is harmless, and a `forget` always comes after its last change.
 */
export type LockChange =
  | { readonly kind: "claim"; readonly claim: ClaimRecord }
  | { readonly kind: "claim_forgotten"; readonly ticket: number }
  | { readonly kind: "session"; readonly session: SessionRecord }
  | { readonly kind: "session_gone"; readonly session: string };

export type Change = LockChange | IdempotencyChange;

/** All that a store knows of the locks of a space. */
export interface Image {
  readonly claims: readonly ClaimRecord[];
  readonly sessions: readonly SessionRecord[];
}

/** All that a space is restored from. */
export interface SpaceImage extends Image, IdempotencyImage {}
