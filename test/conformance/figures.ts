/** Times are measured several times and judged by their median, which a busy moment of the machine does not move. */

import type { Runtime } from "./runtimes.ts";

/** Prints what was measured and gives its median. */
export function figure(runtime: Runtime, name: string, timesMs: readonly number[]): number {
  const sorted = timesMs.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)]!;
  const span = sorted.length > 1 ? ` (${sorted[0]!.toFixed(1)} to ${sorted.at(-1)!.toFixed(1)})` : "";
  console.log(`${runtime.name}: ${name}: ${median.toFixed(1)} ms${span}`);
  return median;
}
