/** The times of a fleet, and how they depend on each other. */

import { FLEET_DEFAULTS } from "./script.ts";

export const LEASE_DEFAULT_MS: number = FLEET_DEFAULTS.leaseMs;
export const LEASE_MIN_MS = 1000;
export const LEASE_MAX_MS = 60_000;
/** A lost push is repaired within this time. */
export const RETRY_DEFAULT_MS = 1000;
export const RETRY_MIN_MS = 50;
export const RETRY_MAX_MS = 1000;
/** Shorter than those of a server alone: see `deadlineMaxMs`. */
export const FLEET_HEARTBEAT_MS = 2000;
export const FLEET_DEADLINE_MS = 6000;

/**
 * A client believes in its locks for a deadline after the server last heard of it, the others for a lease after Redis last heard of the server.
 * So the deadline is the shorter one, by what passes between two calls to Redis: otherwise acks would be kept back without need.
 */
export function deadlineMaxMs(leaseMs: number, retryMs: number): number {
  return Math.floor(leaseMs * 0.8 - pollMs(leaseMs, retryMs));
}

/** Each call is also a renewal, so there are some within a lease whatever goes on. */
export function pollMs(leaseMs: number, retryMs: number): number {
  return Math.min(retryMs, leaseMs / 5);
}
