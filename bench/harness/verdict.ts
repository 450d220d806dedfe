/** What a soak comes to. */

import { median, slope } from "../figures.ts";
import type { Summary } from "../load/job.ts";
import type { Drift, SoakSample, Verdict } from "./results.ts";

const HOUR_MS = 3_600_000;

/** Before, a server is still filling what it remembers for minutes, and its runtime still compiles. */
const TELLING_MS = 600_000;

export function verdictOf(samples: readonly SoakSample[]): Verdict {
  const memory = samples.flatMap(({ atMs, residentBytes }) =>
    residentBytes === undefined ? [] : [[atMs, residentBytes] as const],
  );
  const isLong = (samples.at(-1)?.atMs ?? 0) >= TELLING_MS;
  return {
    bytesPerHour: memory.length < 4 ? undefined : slope(memory.slice(memory.length >> 1)) * HOUR_MS,
    isGrowing: isLong ? isGrowing(memory.map(([, bytes]) => bytes)) : undefined,
    latenessNs: driftOf(samples.map(({ lateness }) => lateness)),
    ownLatenessNs: driftOf(samples.map(({ ownLateness }) => ownLateness)),
    early: samples.reduce((sum, { early }) => sum + early, 0),
  };
}

function driftOf(summaries: readonly (Summary | null)[]): Drift | undefined {
  const late = summaries.flatMap((summary) => (summary === null ? [] : [summary.p99]));
  const quarter = Math.ceil(late.length / 4);
  if (late.length === 0) return undefined;
  return { first: median(late.slice(0, quarter)), last: median(late.slice(-quarter)) };
}

/** Ranges that do not touch are the least that a growth must show: memory comes and goes in steps. */
function isGrowing(bytes: readonly number[]): boolean {
  const quarter = bytes.length >> 2;
  if (quarter === 0) return false;
  return Math.min(...bytes.slice(-quarter)) > Math.max(...bytes.slice(-2 * quarter, -quarter));
}
