/** What is told about idempotency records, addressed as all effects are. Times are engine time in ms. */

import type { AttemptEnd, RecordState } from "./record.ts";

interface About {
  readonly to: string;
  readonly request: string;
  readonly key: string;
}

/** The work is yours to run, until `expiresAt` or a word of yours before. */
export interface Started extends About {
  readonly kind: "started";
  /** The token that completes, fails, extends. */
  readonly attempt: string;
  /** 1 for the first attempt at this record. */
  readonly number: number;
  readonly leaseMs: number;
  /** When the attempt's lease ends. */
  readonly expiresAt: number;
}

/** The work is done; this is what it came to, byte for byte. */
export interface Replay extends About {
  readonly kind: "replay";
  readonly result: Uint8Array;
  readonly contentType: string;
  /** Of the attempt that completed. */
  readonly number: number;
}

/** Somebody else runs it and this begin does not wait, or no longer. */
export interface InProgress extends About {
  readonly kind: "in_progress";
  /** What is left of the running attempt's lease; 0 when it is over just now. */
  readonly retryAfterMs: number;
}

export interface AttemptQueued extends About {
  readonly kind: "attempt_queued";
  /** 1 = next. */
  readonly position: number;
}

export interface Completed extends About {
  readonly kind: "completed";
  /** It was so before this command. */
  readonly already?: true;
}

export interface Failed extends About {
  readonly kind: "failed";
}

export interface AttemptExtended extends About {
  readonly kind: "attempt_extended";
  readonly leaseMs: number;
  readonly expiresAt: number;
}

export interface Forgotten extends About {
  readonly kind: "forgotten";
  /** Whether there was a record. */
  readonly existed: boolean;
}

/**
 * The shown attempt is not, or no longer, the one that runs. Also told unasked to a session, under its begin's request, when
 * its attempt ends by other hands than its own.
 */
export interface AttemptLost extends About {
  readonly kind: "attempt_lost";
  readonly reason: LossReason;
}

/**
 * `forgotten`: the record was removed under it. `completed`: it is done already, by that very attempt. `superseded`: another
 * attempt has taken its place. `unknown`: there is no such record.
 */
export type LossReason = AttemptEnd | "forgotten" | "completed" | "superseded" | "unknown";

export interface RecordStatusTold extends About {
  readonly kind: "record_status";
  /** Absent: there is no record. */
  readonly record?: RecordSummary;
}

export interface RecordSummary {
  readonly state: RecordState;
  readonly attempts: number;
  readonly waiting: number;
  /** `running` only: when the lease ends. */
  readonly leaseUntil?: number;
  /** Not for `running`: when the record ends. */
  readonly expiresAt?: number;
  /** These two: `done` only. */
  readonly contentType?: string;
  readonly resultBytes?: number;
}

export type IdempotencyEffect =
  | Started
  | Replay
  | InProgress
  | AttemptQueued
  | Completed
  | Failed
  | AttemptExtended
  | Forgotten
  | AttemptLost
  | RecordStatusTold;

/** Why a command about a record was refused; nothing was changed. */
export type IdempotencyRefusal = "fingerprint_mismatch" | "result_mismatch" | "unavailable";
