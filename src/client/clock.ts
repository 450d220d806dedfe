/** Time as the client counts it: the clocks of the runtime, its timer, its turns, and how they are made safe against suspend. */

import type { Page } from "./page-life.ts";

/** What the client needs from the runtime besides sockets; tests put virtual time here. */
export interface Ports {
  /** Monotonic ms. May stand still while the machine is suspended. */
  readonly mono: () => number;
  /** Wall clock, ms since the epoch. May jump. */
  readonly wall: () => number;
  /**
   * Calls `run` once, about `ms` from now. Returns what calls it off. `idle`: a process that has nothing else to do may end
   * without it, as it should when all that is left is to watch a lease.
   */
  readonly timer: (ms: number, run: () => void, idle?: boolean) => () => void;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  /** Calls `run` when what runs now is done, before anything else happens. */
  readonly afterTurn: (run: () => void) => void;
  /** The page that this runs in, if any. */
  readonly page?: Page | undefined;
}

export const systemPorts: Ports = {
  mono: () => performance.now(),
  wall: () => Date.now(),
  timer: (ms, run, idle) => {
    const id = setTimeout(run, ms);
    // Browsers have numbers here, and no process that waits for them.
    if (idle) (id as { unref?: () => void }).unref?.();
    return () => clearTimeout(id);
  },
  random: () => Math.random(),
  afterTurn: (run) => queueMicrotask(run),
  get page() {
    // Where there is no document nobody freezes anything.
    const own = globalThis as unknown as Partial<Page>;
    return own.document && (own as Page);
  },
};

/** A time that does not come. */
export const NEVER: number = Infinity;

/**
 * While locks are held the time is looked at this often, ms. A timer that was set before a suspend may count
 * only the time awake, so without this a lease could end unnoticed long after the machine woke up.
 */
export const CHECK_MS = 1_000;

/** A timer that goes off so much too late, ms, tells that the machine slept, or that the program was held up as if it did. */
export const JUMP_MS = 5_000;

/** Differences between the two clocks below this are rounding and drift, ms. */
const NOISE_MS = 50;

/**
 * A clock that counts sleep. It runs with the monotonic clock and jumps ahead whenever the wall clock has got ahead
 * of it, as after a suspend in which the monotonic clock stood still. So whatever is due by either clock is due by this
 * one. A wall clock that is set back changes nothing; one that is set forward makes leases end early, which is the safe side.
 */
export function awakeClock(ports: Ports): () => number {
  let skewMs = ports.wall() - ports.mono();
  let sleptMs = 0;
  return () => {
    const monoMs = ports.mono();
    const changeMs = ports.wall() - monoMs - skewMs;
    if (Math.abs(changeMs) > NOISE_MS) {
      skewMs += changeMs;
      sleptMs += Math.max(0, changeMs);
    }
    return monoMs + sleptMs;
  };
}

/** Resolves after `ms`; rejects with the signal's reason when that aborts first. */
export function pause(ports: Ports, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = ports.timer(ms, () => {
      signal?.removeEventListener("abort", stop);
      resolve();
    });
    if (signal?.aborted === true) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
