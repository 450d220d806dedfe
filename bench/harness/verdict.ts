/** What a soak comes to. */

import { median, slope } from "../figures.ts";
import type { SoakSample, Verdict } from "./results.ts";

const HOUR_MS = 3_600_000;

/** Before, a server is still filling what it remembers for minutes, and its runtime still compiles. */
const TELLING_MS = 600_000;

export function verdictOf(samples: readonly SoakSample[]): Verdict {
  const memory = samples.flatMap(({ atMs, residentBytes }) =>
    residentBytes === undefined ? [] : [[atMs, residentBytes] as const],
  );
  const late = samples.flatMap(({ lateness }) => (lateness === null ? [] : [lateness.p99]));
  const isLong = (samples.at(-1)?.atMs ?? 0) >= TELLING_MS;
  const quarter = Math.ceil(late.length / 4);
  return {
    bytesPerHour: memory.length < 4 ? undefined : slope(memory.slice(memory.length >> 1)) * HOUR_MS,
    isGrowing: isLong ? isGrowing(memory.map(([, bytes]) => bytes)) : undefined,
    latenessNs:
      late.length === 0 ? undefined : { first: median(late.slice(0, quarter)), last: median(late.slice(-quarter)) },
    early: samples.reduce((sum, { early }) => sum + early, 0),
  };
}

/** Ranges that do not touch are the least that a growth must show: memory comes and goes in steps. */
function isGrowing(bytes: readonly number[]): boolean {
  const quarter = bytes.length >> 2;
  if (quarter === 0) return false;
  return Math.min(...bytes.slice(-quarter)) > Math.max(...bytes.slice(-2 * quarter, -quarter));
}
