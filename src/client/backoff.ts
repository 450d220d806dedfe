/** How long to wait before connecting again. */
export interface BackoffOptions {
  /** Upper bound of the first wait, doubled with each failure, ms. Default 250. */
  readonly baseMs?: number;
  /** Upper bound of every wait, ms. Default 10 000. */
  readonly capMs?: number;
}

const BASE_MS = 250;
const CAP_MS = 10_000;

/** Full jitter: anything from nothing to the bound, so that clients that were dropped together do not come back together. */
export function backoffMs(failures: number, random: number, options: BackoffOptions = {}): number {
  return random * Math.min(options.capMs ?? CAP_MS, (options.baseMs ?? BASE_MS) * 2 ** failures);
}

/** For a server that asked to come back later: at least half of the longest wait. */
export function laterMs(random: number, options: BackoffOptions = {}): number {
  return (options.capMs ?? CAP_MS) * (0.5 + random / 2);
}
