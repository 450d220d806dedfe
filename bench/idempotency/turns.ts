/** Who takes turns is measured under the same conditions, on a machine that has others to serve as well. */

import process from "node:process";
import { median } from "../figures.ts";

export interface Subject {
  readonly name: string;
  /** One operation. */
  readonly run: () => Promise<unknown>;
}

/** In microseconds an operation, the median of the rounds. */
export interface Timed {
  readonly name: string;
  /** Processor time of this process, all its threads: what else runs on the machine has no part in it. */
  readonly cpu: number;
  /** Time that passed, which includes waits for the disk, and for a processor that others use. */
  readonly wall: number;
  /** These ÷ those of the first subject in the same round, the median of the rounds. */
  readonly cpuRatio: number;
  readonly wallRatio: number;
}

interface Spent {
  readonly cpu: number;
  readonly wall: number;
}

/** Each round gives each subject so many operations, one after the other; the first round only warms up. */
export async function takeTurns(subjects: readonly Subject[], rounds: number, operations: number): Promise<Timed[]> {
  const spent = subjects.map(() => [] as Spent[]);
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { run }] of subjects.entries()) {
      const one = await turn(run, operations);
      if (round > 0) spent[index]?.push(one);
    }
  }
  const ratio = (own: readonly Spent[], what: keyof Spent): number =>
    median(own.map((one, round) => one[what] / (spent[0]?.[round]?.[what] ?? Number.NaN)));
  return subjects.map(({ name }, index) => {
    const own = spent[index] ?? [];
    return {
      name,
      cpu: median(own.map(({ cpu }) => cpu)),
      wall: median(own.map(({ wall }) => wall)),
      cpuRatio: ratio(own, "cpu"),
      wallRatio: ratio(own, "wall"),
    };
  });
}

async function turn(run: Subject["run"], operations: number): Promise<Spent> {
  const usage = process.cpuUsage();
  const begun = performance.now();
  for (let i = 0; i < operations; i++) await run();
  const wall = ((performance.now() - begun) * 1000) / operations;
  const { user, system } = process.cpuUsage(usage);
  return { cpu: (user + system) / operations, wall };
}

export function print(title: string, timed: readonly Timed[]): void {
  console.log(`\n  ${title.padEnd(60)} processor            passed`);
  for (const { name, cpu, wall, cpuRatio, wallRatio } of timed) {
    console.log(`    ${name.padEnd(56)} ${figures(cpu, cpuRatio)}   ${figures(wall, wallRatio)}`);
  }
}

function figures(micros: number, ratio: number): string {
  return `${micros.toFixed(0).padStart(6)} µs ${ratio.toFixed(2).padStart(5)} ×`;
}
