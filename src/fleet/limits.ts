/** The times of a fleet, and how they depend on each other. */

import { FLEET_DEFAULTS } from "./script.ts";

export const LEASE_DEFAULT_MS: number = FLEET_DEFAULTS.leaseMs;
export const LEASE_MIN_MS = 1000;
export const LEASE_MAX_MS = 60_000;
/** A lost push is repaired within this time. */
export const RETRY_DEFAULT_MS = 1000;
export const RETRY_MIN_MS = 50;
export const RETRY_MAX_MS = 1000;
/** Lower than those of a server alone: whatever one space does, the others of the same Redis wait for. */
export const FLEET_LIMITS = { waitersPerKeyMax: 10_000, claimsPerSessionMax: 2000 } as const;

/** Of sessions: shorter than those of a server alone. */
const HEARTBEAT_DEFAULT_MS = 2000;
const DEADLINE_DEFAULT_MS = 6000;

export interface LeaseTimes {
  readonly leaseMs?: number | undefined;
  readonly retryMs?: number | undefined;
}

/**
 * A client believes in its locks for a deadline after the server last heard of it, the others for a lease after Redis last heard of the server.
 * So the deadline is the shorter one, by what passes between two calls to Redis: otherwise acks would be kept back without need.
 */
export function deadlineMaxMs(times: LeaseTimes): number {
  return Math.floor((times.leaseMs ?? LEASE_DEFAULT_MS) * 0.8 - pollMs(times));
}

/** The heartbeat and the deadline of sessions that go with a lease. */
export function fleetTimes(times: LeaseTimes): { readonly heartbeatMs: number; readonly deadlineMs: number } {
  const deadlineMs = Math.min(DEADLINE_DEFAULT_MS, deadlineMaxMs(times));
  return { deadlineMs, heartbeatMs: Math.min(HEARTBEAT_DEFAULT_MS, Math.floor(deadlineMs / 3)) };
}

/** Each call is also a renewal, so there are some within a lease whatever goes on. */
export function pollMs({ leaseMs = LEASE_DEFAULT_MS, retryMs = RETRY_DEFAULT_MS }: LeaseTimes): number {
  return Math.min(retryMs, leaseMs / 5);
}
