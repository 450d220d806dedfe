/**
 * Who is compared takes turns, so that all have the same share of a machine that serves others as well. The median of a turn counts: a
 * moment in which the machine was busy elsewhere is in a mean, and says nothing of whoever was measured.
 */

import { median } from "../figures.ts";

export interface Subject {
  readonly name: string;
  /** Does it once, and tells how long it took, µs: what has to be made ready before or after does not count. */
  readonly once: () => Promise<number>;
}

export interface Timed {
  readonly name: string;
  /** The median of the rounds, µs. */
  readonly micros: number;
  /** ÷ the first subject in the same round: the median of the rounds, and from lowest to highest. */
  readonly ratio: number;
  readonly ratioMin: number;
  readonly ratioMax: number;
}

export interface Turns {
  readonly rounds: number;
  readonly operations: number;
}

/** The first round only warms up. */
export async function takeTurns(subjects: readonly Subject[], { rounds, operations }: Turns): Promise<Timed[]> {
  const times = subjects.map(() => [] as number[]);
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { once }] of subjects.entries()) {
      const turn: number[] = [];
      for (let i = 0; i < operations; i++) turn.push(await once());
      if (round > 0) times[index]?.push(median(turn));
    }
  }
  return subjects.map(({ name }, index) => {
    const own = times[index] ?? [];
    const ratios = own.map((micros, round) => micros / (times[0]?.[round] ?? Number.NaN));
    const [ratioMin, ratioMax] = [Math.min(...ratios), Math.max(...ratios)];
    return { name, micros: median(own), ratio: median(ratios), ratioMin, ratioMax };
  });
}

/** µs. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) * 1000;
}
