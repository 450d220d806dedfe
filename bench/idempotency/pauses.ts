/** The arithmetic of pauses: pure functions with known answers. */

import { quantile } from "../figures.ts";
import type { Taken } from "./stopwatch.ts";

export interface Judgement {
  readonly count: number;
  /** Of the pauses, ms. */
  readonly median: number;
  readonly p99: number;
  readonly longest: number;
  /** The same with the waits for a core. */
  readonly longestWall: number;
  /** Those whose pause is longer than it may be, the longest first. */
  readonly over: readonly Taken[];
  /** How many are, with their waits for a core. */
  readonly overWall: number;
  readonly holds: boolean;
}

/**
 * For how long something keeps everybody waiting on a machine that has a core for it: all of its time, waits for the disk
 * included, but for that in which the kernel let others have the core. No wait for the disk can be hidden in that.
 */
export function pauseOf({ wall, core }: Taken): number {
  return wall - core;
}

/**
 * What is neither work nor a wait for a core: a wait for the disk, or for another of the process's threads, or what a hypervisor has
 * taken. Undefined: the kernel does not tell.
 */
export function restOf({ wall, own, core }: Taken): number | undefined {
  return own === undefined ? undefined : Math.max(0, wall - own - core);
}

/** Nothing that was not measured holds. */
export function judge(taken: readonly Taken[], pauseMaxMs: number): Judgement {
  const pauses = taken.map(pauseOf);
  const over = taken.filter((one) => !(pauseOf(one) <= pauseMaxMs)).toSorted((a, b) => pauseOf(b) - pauseOf(a));
  return {
    count: taken.length,
    median: quantile(pauses, 0.5),
    p99: quantile(pauses, 0.99),
    longest: quantile(pauses, 1),
    longestWall: quantile(
      taken.map(({ wall }) => wall),
      1,
    ),
    over,
    overWall: taken.filter(({ wall }) => wall > pauseMaxMs).length,
    holds: taken.length > 0 && over.length === 0,
  };
}
