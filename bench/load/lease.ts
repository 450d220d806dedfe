/** When a lease that ran out should have ended, as far as the clients can tell. */

export interface Seen {
  readonly askedAtNs: number;
  readonly heldAtNs: number;
  /** The next in line had the lock. */
  readonly nextAtNs: number;
  readonly ttlMs: number;
}

/** The lease began at the server between the asking and the answer: early is what was too early for the first, late is by the second. */
export function endOfLease({ askedAtNs, heldAtNs, nextAtNs, ttlMs }: Seen): {
  readonly isEarly: boolean;
  readonly lateNs: number;
} {
  const lengthNs = ttlMs * 1e6;
  return { isEarly: nextAtNs < askedAtNs + lengthNs, lateNs: Math.max(0, nextAtNs - heldAtNs - lengthNs) };
}
