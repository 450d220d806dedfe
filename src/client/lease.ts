/**
 * How long a client may believe that it holds. The rule behind every line: start from a moment that the server
 * cannot have reached before (the send time of something it has answered), never from one that it may have passed.
 * Then take off a margin, so that the work is told to stop before the server can grant the next holder.
 *
 * When a grant arrived is no such moment: it may have lain in a buffer while this machine slept or was busy, and nothing
 * in it tells how long. So after a wait, when the request's own send time proves little, the request is sent again. That is
 * the same claim and changes nothing, but its answer is measured from a send time of now.
 */

import { NEVER } from "./clock.ts";

/** Clocks that run at different speeds, late timers, and the time the work needs to stop. */
export function marginMs(ms: number): number {
  return Math.min(ms / 10, 2_000);
}

/**
 * The end of a lease of which the server said `expiresInMs` at some moment not before `since`.
 * No lease of its own (the session is the lease): Infinity.
 */
export function leaseUntil(since: number, expiresInMs: number | undefined): number {
  return expiresInMs === undefined ? NEVER : since + expiresInMs - marginMs(expiresInMs);
}
