/** Who takes turns is measured under the same conditions, on a machine that has others to serve as well. */

import { median } from "../figures.ts";

export interface Subject {
  readonly name: string;
  /** One operation. */
  readonly run: () => Promise<unknown>;
}

export interface Timed {
  readonly name: string;
  /** Microseconds an operation, the median of the rounds. */
  readonly micros: number;
  /** ÷ that of the first subject in the same round, the median of the rounds, and from lowest to highest. */
  readonly ratio: number;
  readonly ratioMin: number;
  readonly ratioMax: number;
}

/** Each round gives each subject so many operations, one after the other; the first round only warms up. */
export async function takeTurns(subjects: readonly Subject[], rounds: number, operations: number): Promise<Timed[]> {
  const times = subjects.map(() => [] as number[]);
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { run }] of subjects.entries()) {
      const begun = performance.now();
      for (let i = 0; i < operations; i++) await run();
      if (round > 0) times[index]?.push(((performance.now() - begun) * 1000) / operations);
    }
  }
  return subjects.map(({ name }, index) => {
    const own = times[index] ?? [];
    const ratios = own.map((time, round) => time / (times[0]?.[round] ?? Number.NaN));
    return {
      name,
      micros: median(own),
      ratio: median(ratios),
      ratioMin: Math.min(...ratios),
      ratioMax: Math.max(...ratios),
    };
  });
}

export function print(title: string, against: string, timed: readonly Timed[]): void {
  console.log(`\n  ${title}`);
  for (const { name, micros, ratio, ratioMin, ratioMax } of timed) {
    const range = `(${ratioMin.toFixed(2)}–${ratioMax.toFixed(2)})`;
    const figures = `${micros.toFixed(0).padStart(7)} µs ${ratio.toFixed(2).padStart(7)} × ${against}  ${range}`;
    console.log(`    ${name.padEnd(58)} ${figures}`);
  }
}
