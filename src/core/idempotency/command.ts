/**
 * What can be asked about idempotency records. A record that lives (somebody runs it or waits for it) is in memory; any other
 * is in the store, and whoever submits a command about it brings it along as `found`. So a log of commands still replays a space.
 */

import type { RecordImage } from "./record.ts";

/** `from` is a session's id or a caller's scope, as in the commands about locks; request ids of begins are a space of their own. */
interface Asked {
  readonly from: string;
  readonly request: string;
  readonly key: string;
  /** What the store has under this key; absent: nothing, or the record lives. `unreadable`: it could not say. */
  readonly found?: RecordImage | "unreadable";
}

/**
 * Run the work of this key, or hear what it came to. Answers: `started`; `replay`; `in_progress`; `attempt_queued` and later
 * one of these; or `refused`. A repeat with the same `from` and `request` is told again what it was told.
 */
export interface Begin extends Asked {
  readonly kind: "begin";
  /** Whether `from` is a session: the wait and the attempt then end with it. */
  readonly session: boolean;
  /** What the work is about; two begins of one key must say the same. Empty equals only empty. */
  readonly fingerprint: string;
  /** How long the record is kept from the start of its latest attempt or its completion on, ms. */
  readonly ttlMs: number;
  /** How long the attempt may run without a word, ms. */
  readonly leaseMs: number;
  /** How long to wait for a running attempt, ms; 0: not at all. */
  readonly waitMs: number;
  /** The token of the attempt, should this begin start one. */
  readonly newAttempt: string;
  /** The store has no room for a record that it does not have yet. */
  readonly isStoreFull?: true;
}

/** The work is done. Answers: `completed`, `attempt_lost`, or `refused` with `result_mismatch`. */
export interface Complete extends Asked {
  readonly kind: "complete";
  readonly attempt: string;
  readonly result: Uint8Array;
  readonly contentType: string;
}

/** The work came to nothing and may be tried again at once. Answers: `failed`, `attempt_lost`. */
export interface Fail extends Asked {
  readonly kind: "fail";
  readonly attempt: string;
}

/** The attempt's lease = now + leaseMs. Answers: `attempt_extended`, `attempt_lost`. */
export interface ExtendAttempt extends Asked {
  readonly kind: "extend_attempt";
  readonly attempt: string;
  readonly leaseMs: number;
}

/** Remove the record, whatever its state. Answers: `forgotten`, or `attempt_lost` when the shown attempt is not the record's. */
export interface Forget extends Asked {
  readonly kind: "forget";
  /** The attempt that runs or that completed the record; absent: an operator's word. */
  readonly attempt?: string;
}

/** How a record stands, without its result and its token. Answer: `record_status`. */
export interface RecordStatus extends Asked {
  readonly kind: "record_status";
}

/**
 * The one who sent the begin of this `from` and `request` is no longer interested. A waiting one leaves the queue (`in_progress`),
 * a running attempt ends as by `fail` (the cancel crossed the start, or nobody received it). Unknown: nothing happens.
 */
export interface CancelBegin {
  readonly kind: "cancel_begin";
  readonly from: string;
  readonly request: string;
}

/** Commands that bring `found` along. */
export type RecordCommand = Begin | Complete | Fail | ExtendAttempt | Forget | RecordStatus;

export type IdempotencyCommand = RecordCommand | CancelBegin;
