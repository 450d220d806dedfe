/** What the report says. */

import { restOf, type Judgement, pauseOf } from "./pauses.ts";
import type { Taken } from "./stopwatch.ts";

/** So many of those that were too long are told one by one. */
const TOLD_MAX = 5;

export function inWords(count: number): string {
  return count.toLocaleString("en").replaceAll(",", " ");
}

export function verdict(rule: string, holds: boolean): void {
  console.log(`    ${holds ? "holds" : "DOES NOT HOLD"}: ${rule}`);
}

/** A line of figures, and one for each of the longest that were too long. */
export function lines(name: string, judged: Judgement): readonly string[] {
  const [median, p99, longest, longestWall] = [judged.median, judged.p99, judged.longest, judged.longestWall].map(
    (ms) => ms.toFixed(1),
  );
  const spread = `median ${median} ms, 99 % within ${p99}, longest ${longest}, ${judged.over.length} of ${inWords(judged.count)} too long`;
  const withCore = `with waits for a core ${longestWall}, ${inWords(judged.overWall)}`;
  return [`    ${name.padEnd(30)} ${spread} (${withCore})`, ...judged.over.slice(0, TOLD_MAX).map(split)];
}

function split(taken: Taken): string {
  const rest = restOf(taken);
  const parts =
    rest === undefined
      ? "of what is not told"
      : `work ${(taken.own ?? 0).toFixed(1)}, disk and other waits ${rest.toFixed(1)}`;
  return `      ${pauseOf(taken).toFixed(1)} ms: ${parts}; and ${taken.core.toFixed(1)} for a core`;
}
