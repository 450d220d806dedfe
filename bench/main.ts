/** Latchkey, its peers and the floor in one run. `npm run bench -- --help` says how. */

import { mkdirSync, writeFileSync } from "node:fs";
import { commit, describeMachine, placing } from "./harness/machine.ts";
import { START_MS } from "./harness/costs.ts";
import { failuresOf, notesOn } from "./harness/judge.ts";
import { LoaderPool } from "./harness/loader-pool.ts";
import { measure } from "./harness/measure.ts";
import { type Options, readOptions, USAGE } from "./harness/options.ts";
import { ServerPool } from "./harness/pool.ts";
import { progress } from "./harness/progress.ts";
import { type Plan, planOf } from "./harness/plan.ts";
import type { Results, Row, ScenarioTime } from "./harness/results.ts";
import { type SoakTurns, soak } from "./harness/soak.ts";
import type { Floor, Subject } from "./harness/subjects.ts";
import { compare, readResults } from "./report/compare.ts";
import { page } from "./report/page.ts";
import { leftOutLine, planned } from "./report/plan.ts";
import { soakPlanned, verdictLine } from "./report/soak.ts";
import { block, padded } from "./report/table.ts";
import { targetsOf } from "./report/targets.ts";
import { duration } from "./report/words.ts";
import { warmUp, warmUpMsOf } from "./harness/warm-up.ts";
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
  if (options.isPlan) {
    console.log(options.soak === undefined ? planned(await planWith(options)) : soakPlanned(options.soak));
    return 0;
  }
  const results = await runAll(options, args);
  const path = keep(results);
  const targets = targetsOf(results);
  if (targets.lines.length > 0) console.log(["", ...padded(targets), ""].join("\n"));
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
  const done = await (options.soak === undefined ? runScenarios(options) : runSoak(options, options.soak));
  const notes = notesOn(done.rows, machine.loadAtStart, machine.cores);
  return { startedAt, commit: version, command, machine, ...options.run, loaders: options.loaders, ...done, notes };
}

type Done = Pick<Results, "rows" | "scenarioTimes">;

async function runScenarios(options: Options): Promise<Done> {
  const { run, loaders, url } = options;
  const rows: Row[] = [];
  const scenarioTimes: ScenarioTime[] = [];
  const plan = await planWith(options);
  console.log(`about ${duration(plan.ms)}`);
  const tell = progress(plan);
  await using warm = new ServerPool(url);
  using pool = new LoaderPool<Subject | Floor>(
    run.isWarm
      ? async (who, generators) => warmUp(who, generators, who.server && (await warm.get(who.server)))
      : undefined,
  );
  tell.begin("until all are warm", { ms: plan.warmUpMs, workMs: 0 });
  for (const who of plan.warmUps) {
    // What goes wrong here goes wrong again in the rows, which say so.
    await pool
      .take(who, loaders)
      .then((taken) => pool.giveBack(who, taken))
      .catch(() => undefined);
    tell.did(START_MS + warmUpMsOf(who), "turns");
  }
  await warm.endScenario();
  tell.end();
  for (const part of plan.scenarios) {
    const { scenario, ms: plannedMs, leftOut } = part;
    tell.begin(scenario.name, part);
    {
      await using fresh = new ServerPool(url);
      const servers = isOnce(scenario) ? fresh : warm;
      rows.push(...(await measure(part, { ...run, loaders }, servers, pool, (ms, kind) => tell.did(ms, kind))));
      await warm.endScenario();
    }
    scenarioTimes.push({ scenario: scenario.name, plannedMs, tookMs: tell.end(), leftOut });
    console.log([block(scenario, rows), leftOutLine(part)].filter((line) => line !== undefined).join("\n"));
  }
  return { rows, scenarioTimes };
}

function planWith(options: Options): Promise<Plan> {
  return planOf(options, new ServerPool(options.url));
}

async function runSoak({ subjects, url }: Options, turns: SoakTurns): Promise<Done> {
  await using servers = new ServerPool(url);
  const rows = await soak(turns, subjects, servers, console.log);
  console.log(["", ...rows.map(verdictLine)].join("\n"));
  return { rows };
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
