/**
 * What one engine accepts. Above a limit a command is refused with `limit` and the limit's name;
 * nothing that lives is ever evicted to make room.
 */
export interface EngineLimits {
  /** Keys with at least one live claim. */
  readonly keysMax: number;
  /** Claims that wait for one key. */
  readonly waitersPerKeyMax: number;
  /** Live claims, waiting or holding, of one session. */
  readonly claimsPerSessionMax: number;
  /** Live claims of callers without a session, all together. */
  readonly callerClaimsMax: number;
  /** Sessions, connected or suspended. */
  readonly sessionsMax: number;
  /** Ended claims that are remembered, oldest forgotten first. */
  readonly endedMax: number;
  /** Nested acquires of one claim. */
  readonly depthMax: number;
}

export type LimitName = "keys" | "waiters_per_key" | "claims_per_session" | "caller_claims" | "sessions";

export const DEFAULT_LIMITS: EngineLimits = {
  keysMax: 1_000_000,
  waitersPerKeyMax: 100_000,
  claimsPerSessionMax: 10_000,
  callerClaimsMax: 200_000,
  sessionsMax: 100_000,
  endedMax: 65_536,
  depthMax: 64,
};

/** An ended claim is remembered max(2 × ttl, this), rounded up to a whole second of engine time. */
export const MEMORY_MS = 60_000;

/** Of each key in a list that tells who waits, the first so many. */
export const QUEUE_TOLD_MAX = 100;

/** So many of those who ask for a key are told of. */
export const ASKS_TOLD_MAX = 100;

/** Nested acquires whose request id a claim remembers, so that a repeated one does not count twice. */
export const NEST_MEMORY_MAX = 64;
