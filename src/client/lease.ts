/**
 * How long a client may believe that it holds. The rule behind every line: start from a moment that the server
 * cannot have reached before (the send time of something it has answered), never from one that it may have passed.
 * Then take off a margin, so that the work is told to stop before the server can grant the next holder.
 */

/** Clocks that run at different speeds, late timers, and the time the work needs to stop. */
export function marginMs(ms: number): number {
  return Math.min(ms / 10, 2_000);
}

/**
 * The end of a lease of which the server said `expiresInMs` at some moment not before `since`.
 * No lease of its own (the session is the lease): Infinity.
 */
export function leaseUntil(since: number, expiresInMs: number | undefined): number {
  return expiresInMs === undefined ? Number.POSITIVE_INFINITY : since + expiresInMs - marginMs(expiresInMs);
}

/**
 * A moment that is most likely not after the grant, when the grant came unasked, after a wait. It was sent before it
 * was `receivedAt`, earlier by the time it travelled. That time cannot be known; `travelMs` is the best estimate,
 * and the grant is surely not older than `since`, the send time of the request.
 */
export function grantedAfterWait(since: number, receivedAt: number, travelMs: number): number {
  return Math.max(since, receivedAt - travelMs);
}
