/** What one ledger accepts. Above a limit a begin is refused with `limit` and the limit's name; nothing that lives is evicted. */
export interface LedgerLimits {
  /** Begins that run or wait, all together. */
  readonly beginsMax: number;
  /** Begins that wait for one record. */
  readonly waitersPerRecordMax: number;
  /** Begins of one session that run or wait. */
  readonly beginsPerSessionMax: number;
}

/** `records`: the store has no room for another one. */
export type LedgerLimitName = "begins" | "waiters_per_record" | "begins_per_session" | "records";

export const DEFAULT_LEDGER_LIMITS: LedgerLimits = {
  beginsMax: 200_000,
  waitersPerRecordMax: 10_000,
  beginsPerSessionMax: 1_000,
};

/** The range of leases and lives, for those who let commands in; the ledger trusts them. */
export const LEASE_DEFAULT_MS = 30_000;
export const LEASE_MIN_MS = 100;
export const LEASE_MAX_MS: number = 24 * 3_600_000;
export const RECORD_TTL_DEFAULT_MS: number = 24 * 3_600_000;
export const RECORD_TTL_MIN_MS = 1_000;
export const RECORD_TTL_MAX_MS: number = 30 * 24 * 3_600_000;
