/**
 * An idempotency record as plain, immutable values: what the ledger hands to a store, and what a store finds again. Times are
 * engine time in ms; a store that must survive a restart translates them to wall time.
 */

import type { Begin } from "./command.ts";

/** `running`: an attempt is under way. `idle`: the latest one was lost and nobody has begun since. `done`: it has a result. */
export type RecordState = "running" | "idle" | "done";

/** How an attempt ends that neither completes nor fails: its lease is over, or its session is. */
export type AttemptEnd = "expired" | "dropped";

export interface RecordImage {
  readonly key: string;
  readonly fingerprint: string;
  readonly state: RecordState;
  /** Attempts so far, the latest included. */
  readonly attempts: number;
  /** Token of the latest attempt: the one that runs, that was lost, or that completed the record. */
  readonly attempt: string;
  /** Of the latest attempt's begin. */
  readonly ttlMs: number;
  /** Start of the latest attempt. */
  readonly startedAt: number;
  /** From then on it counts as absent: `startedAt` + ttl when idle, completion + ttl when done, Infinity while running. */
  readonly expiresAt: number;
  /** `running` only. */
  readonly run: RunImage | undefined;
  /** `idle` only. */
  readonly lostBy: AttemptEnd | undefined;
  /** These two: `done` only. */
  readonly result: Uint8Array | undefined;
  readonly contentType: string | undefined;
}

export interface RunImage {
  /** Order of arrival among the begins that live. */
  readonly order: number;
  /** The begin that started the attempt, without what it found: a repeat is recognised by it. */
  readonly asked: Begin;
  /** The lease as last asked, ms. */
  readonly leaseMs: number;
  readonly leaseUntil: number;
}

/** A begin of a session that waits. Listed only with `persist: "all"`: where memory can vanish while the sockets live on. */
export interface WaiterImage {
  /** Order of arrival among the begins that live. */
  readonly order: number;
  /** Without what it found. */
  readonly asked: Begin;
  /** When its wait ends. */
  readonly deadline: number;
}

/** What a step changed. A record's change always shows all of it; the store keeps the latest under its key. */
export type IdempotencyChange =
  | { readonly kind: "record"; readonly record: RecordImage }
  | { readonly kind: "record_gone"; readonly key: string }
  | { readonly kind: "waiter"; readonly waiter: WaiterImage }
  | { readonly kind: "waiter_gone"; readonly order: number };

/** What a ledger is restored from; records that do not run stay in the store. */
export interface IdempotencyImage {
  /** Those that are `running`. */
  readonly records: readonly RecordImage[];
  readonly waiters: readonly WaiterImage[];
}
