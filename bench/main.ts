/** Latchkey, its peers and the floor in one run. `npm run bench -- --help` says how. */

import { mkdirSync, writeFileSync } from "node:fs";
import { commit, describeMachine, placing } from "./harness/machine.ts";
import { failuresOf, notesOn } from "./harness/judge.ts";
import { measure } from "./harness/measure.ts";
import { type Options, readOptions, USAGE } from "./harness/options.ts";
import { ServerPool } from "./harness/pool.ts";
import { progress } from "./harness/progress.ts";
import type { Results, Row } from "./harness/results.ts";
import { type SoakTurns, soak } from "./harness/soak.ts";
import { compare, readResults } from "./report/compare.ts";
import { page } from "./report/page.ts";
import { verdictLine } from "./report/soak.ts";
import { block } from "./report/table.ts";
import { isOnce } from "./scenarios.ts";
import { inRepository } from "./servers/paths.ts";

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    console.log(USAGE);
    return 0;
  }
  const options = read(args);
  if (options === undefined) return 2;
  if (options.compare !== undefined) {
    return compareFiles(...options.compare);
  }
  const results = await runAll(options, args);
  const path = keep(results);
  for (const note of results.notes) console.log(`! ${note}`);
  const failures = failuresOf(results.rows);
  for (const failure of failures) console.log(`FAIL ${failure}`);
  const counted = results.rows.filter(({ skipped }) => skipped === undefined).length;
  console.log(`\n${path}.json and .html: ${counted} rows, ${failures.length} failures`);
  return failures.length > 0 ? 1 : 0;
}

async function runAll(options: Options, args: readonly string[]): Promise<Results> {
  const machine = describeMachine();
  const startedAt = new Date().toISOString();
  const command = ["npm run bench --", ...args].join(" ");
  const version = commit();
  console.log(
    `${command}\ncommit ${version}; ${machine.processor}, ${machine.cores} cores, loopback, ${placing(machine)}`,
  );
  const rows = await (options.soak === undefined ? runScenarios(options) : runSoak(options, options.soak));
  const notes = notesOn(rows, machine.loadAtStart, machine.cores);
  return { startedAt, commit: version, command, machine, ...options.run, loaders: options.loaders, rows, notes };
}

async function runScenarios({ run, subjects, loaders, url }: Options): Promise<Row[]> {
  const rows: Row[] = [];
  const tell = progress(run.scenarios.length);
  await using warm = new ServerPool(url);
  for (const scenario of run.scenarios) {
    tell.begin(scenario.name);
    await using fresh = new ServerPool(url);
    rows.push(...(await measure(scenario, subjects, { ...run, loaders }, isOnce(scenario) ? fresh : warm)));
    await warm.endScenario();
    tell.end();
    console.log(block(scenario, rows));
  }
  return rows;
}

async function runSoak({ subjects, url }: Options, turns: SoakTurns): Promise<Row[]> {
  await using servers = new ServerPool(url);
  const rows = await soak(turns, subjects, servers, console.log);
  console.log(["", ...rows.map(verdictLine)].join("\n"));
  return rows;
}

/** Returns the path without its ending. */
function keep(results: Results): string {
  const folder = inRepository("bench/out");
  mkdirSync(folder, { recursive: true });
  const name = results.startedAt.replaceAll(/[:.]/g, "-");
  writeFileSync(`${folder}/${name}.json`, JSON.stringify(results));
  writeFileSync(`${folder}/${name}.html`, page(results));
  return `bench/out/${name}`;
}

function compareFiles(oldPath: string, newPath: string): number {
  try {
    console.log(compare(readResults(oldPath), readResults(newPath)));
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return 2;
  }
}

function read(args: readonly string[]): Options | undefined {
  try {
    return readOptions(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return undefined;
  }
}

process.exit(await main(process.argv.slice(2)));
