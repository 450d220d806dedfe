/** How long to wait before connecting again. */
export interface BackoffOptions {
  /** Upper bound of the first wait, doubled with each failure, ms. Default 250. */
  readonly baseMs?: number;
  /** Upper bound of every wait, ms. Default 10 000. */
  readonly capMs?: number;
}

/**
 * Full jitter: anything from nothing to the bound, so that clients that were dropped together do not come back together. `later`: the
 * server asked to come back later, so at least half of the longest wait.
 */
export function backoffMs(
  failures: number,
  random: number,
  later: boolean = false,
  { baseMs = 250, capMs = 10_000 }: BackoffOptions = {},
): number {
  return later ? (capMs * (1 + random)) / 2 : random * Math.min(capMs, baseMs * 2 ** failures);
}
