/** What can go wrong with idempotent work, beside what `errors.ts` has. */

import { type ErrorOf, errorOf, LatchkeyError, show } from "./errors.ts";

/** Why an attempt ended without its own complete or fail. */
export type AttemptLossReason =
  /** Its lease ran out. */
  | "expired"
  /** The connection of its session was lost, or was silent for too long. */
  | "dropped"
  /** Its record was removed. */
  | "forgotten"
  /** It was completed before, by somebody who knows its token. */
  | "completed"
  /** Another attempt has taken its place. */
  | "superseded"
  /** This client was closed. */
  | "closed"
  /** So long ago that the server has forgotten, or the token never was one. */
  | "unknown";

/** The attempt is over, and another may run. Its result is not stored. */
export class AttemptLostError extends LatchkeyError {
  override readonly name = "AttemptLostError";
  declare readonly key: string;
  declare readonly reason: AttemptLossReason;

  constructor(key: string, reason: AttemptLossReason) {
    super("attempt_lost", `the attempt at ${show(key)} is lost: ${reason}`, { key, reason });
  }
}

/** Another attempt at the key runs, and `timeout` is over. */
export class IdempotencyInProgressError extends LatchkeyError {
  override readonly name = "IdempotencyInProgressError";
  declare readonly key: string;
  /** When the lease of that attempt is over, as it stands now, ms from now. */
  declare readonly retryAfterMs: number;

  constructor(key: string, retryAfterMs: number) {
    super("in_progress", `an attempt at ${show(key)} is in progress`, { retryable: true, key, retryAfterMs });
  }
}

/** The key was used before with another fingerprint, so for something else. */
export class IdempotencyMismatchError extends LatchkeyError {
  override readonly name = "IdempotencyMismatchError";
  declare readonly key: string;

  constructor(key: string) {
    super("fingerprint_mismatch", `the key ${show(key)} was used with another fingerprint`, { key });
  }
}

/** Every refusal that a client with idempotent work may hear. */
export const workErrorOf: ErrorOf = (refusal, key = "") => {
  switch (refusal.code) {
    case "attempt_lost":
      return new AttemptLostError(key, (refusal.reason as AttemptLossReason | undefined) ?? "unknown");
    case "in_progress":
      return new IdempotencyInProgressError(key, refusal.retry_after_ms ?? 0);
    case "fingerprint_mismatch":
      return new IdempotencyMismatchError(key);
    default:
      return errorOf(refusal, key);
  }
};
