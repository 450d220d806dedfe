/**
 * Times are measured several times. What stalls the machine, the test or the server only makes a round longer: the median is not moved by
 * one busy moment, and where there was more than one, more rounds are taken.
 */

import { expect } from "vitest";
import type { Runtime } from "./runtimes.ts";

const ROUNDS = 5;
const MORE_ROUNDS = 10;

/** Prints what was measured and gives its median. */
export function figure(runtime: Runtime, name: string, timesMs: readonly number[]): number {
  const sorted = timesMs.toSorted((a, b) => a - b);
  const median = medianOf(timesMs);
  const span = sorted.length > 1 ? ` (${sorted[0]!.toFixed(1)} to ${sorted.at(-1)!.toFixed(1)})` : "";
  console.log(`${runtime.name}: ${name}: ${median.toFixed(1)} ms${span}`);
  return median;
}

/** Demands that it takes less than that as a rule. A round gives its time in milliseconds. */
export async function usuallyWithin(
  runtime: Runtime,
  name: string,
  maxMs: number,
  round: () => Promise<number>,
): Promise<void> {
  const timesMs: number[] = [];
  while (timesMs.length < ROUNDS || (medianOf(timesMs) >= maxMs && timesMs.length < ROUNDS + MORE_ROUNDS)) {
    timesMs.push(await round());
  }
  expect(figure(runtime, name, timesMs)).toBeLessThan(maxMs);
}

function medianOf(timesMs: readonly number[]): number {
  return timesMs.toSorted((a, b) => a - b)[Math.floor(timesMs.length / 2)]!;
}
