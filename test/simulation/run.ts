/**
 * `SEED=1 npm run simulate -- --steps 2000 --seeds 200`: runs worlds one after the other, the seed counted up.
 * Runs as it is under Node, Bun and Deno, and prints the same hash on each. `--coverage` shows what happened and how often,
 * `--audit-only` leaves the model out of the judgement.
 */

import process from "node:process";
import { Coverage } from "./coverage.ts";
import { Hash } from "./hash.ts";
import { drawOptions } from "./options.ts";
import type { WorldOptions } from "./options.ts";
import { simulate } from "./world.ts";

interface Asked {
  readonly firstSeed: number;
  readonly seeds: number;
  readonly steps: number;
  readonly judge: WorldOptions["judge"];
  readonly showsCoverage: boolean;
}

function readArguments(): Asked {
  const after = (name: string, otherwise: number): number => {
    const at = process.argv.indexOf(name);
    const value = at === -1 ? otherwise : Number(process.argv[at + 1]);
    if (!Number.isSafeInteger(value)) throw new Error(`${name} wants a whole number`);
    return value;
  };
  const { SEED } = process.env;
  return {
    firstSeed: SEED === undefined ? 1 : Number(SEED),
    seeds: after("--seeds", SEED === undefined ? 200 : 1),
    steps: after("--steps", 2500),
    judge: process.argv.includes("--audit-only") ? "auditor" : "both",
    showsCoverage: process.argv.includes("--coverage"),
  };
}

function main({ firstSeed, seeds, steps, judge, showsCoverage }: Asked): void {
  const started = performance.now();
  const coverage = new Coverage();
  const hash = new Hash();
  let done = 0;
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const result = simulate(drawOptions(seed, steps, judge));
    coverage.addAll(result.coverage);
    hash.add(result.hash);
    done += result.steps;
  }
  if (showsCoverage) {
    for (const name of [...coverage.counts.keys()].sort()) {
      console.log(`${String(coverage.counts.get(name)).padStart(9)}  ${name}`);
    }
  }
  const seconds = (performance.now() - started) / 1000;
  console.log(`${seeds} seeds from ${firstSeed}, ${done} steps in ${seconds.toFixed(1)} s, hash ${hash.digest()}`);
}

try {
  main(readArguments());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
