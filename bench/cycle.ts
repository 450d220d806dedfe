/**
 * What a cycle of a lock takes: processor time in the program and in the kernel, calls of the kernel, and bytes, of the server and of
 * its clients, beside peers and floors. A row of the benchmark is bound by what takes most of it. All that is told here is counted
 * for the processes themselves; others on the machine make it larger by what they throw out of its caches, so all take turns, and the
 * turn tells that was disturbed least. Run: npm run bench:cycle; `-- drain` or `-- "bun ws-raw"` measures that alone.
 */

import process from "node:process";
import type { Calls } from "./cycle/calls.ts";
import { Contender, type Cost, type Side } from "./cycle/contender.ts";
import { whyNot } from "./harness/eligible.ts";
import { LoaderPool } from "./harness/loader-pool.ts";
import { ServerPool } from "./harness/pool.ts";
import { type Floor, floorOf, type Subject, SUBJECTS } from "./harness/subjects.ts";
import { warmUp } from "./harness/warm-up.ts";
import { padded } from "./report/table.ts";
import { fullRun, type Scenario } from "./scenarios.ts";

const SCENARIOS = ["hot key 16", "drain 1024", "uncontended 128"] as const;
const SUBJECTS_HERE = SUBJECTS.filter(
  ({ name, floor }) => /ws-raw|hand-over|redis-list|postgres/.test(name) && floor !== "workerd",
);
const TURNS = 15;

/** Floors first. Only those whose servers are there. */
async function everybodyIn(scenario: Scenario, servers: ServerPool): Promise<readonly (Subject | Floor)[]> {
  const floors = new Map<string, Floor>();
  const subjects: Subject[] = [];
  for (const subject of SUBJECTS_HERE) {
    if ((await whyNot(scenario, subject)) !== undefined) continue;
    if (subject.server === undefined || servers.whyMissing(subject.server) !== undefined) continue;
    subjects.push(subject);
    const floor = floorOf(subject, scenario);
    if (floor !== undefined) floors.set(floor.name, floor);
  }
  return [...floors.values(), ...subjects];
}

async function measure(
  scenario: Scenario,
  wanted: readonly (Subject | Floor)[],
  servers: ServerPool,
  pool: LoaderPool<Subject | Floor>,
): Promise<readonly Cost[]> {
  const contenders: Contender[] = [];
  for (const who of wanted) {
    if (who.server === undefined) continue;
    const loaders = await pool.take(who, 1);
    contenders.push(await Contender.prepare(scenario, who, await servers.get(who.server), loaders));
  }
  for (let turns = 0; turns < TURNS; turns++) for (const contender of contenders) await contender.turn();
  const costs: Cost[] = [];
  for (const contender of contenders) costs.push(await contender.cost());
  for (const { who, loaders } of contenders) {
    await loaders.figures();
    await pool.giveBack(who, loaders);
  }
  return costs;
}

function lines(costs: readonly Cost[]): readonly string[] {
  const side = ({ cpuUs, kernelShare, calls }: Side): string[] => [
    cpuUs.toFixed(0),
    kernelShare === undefined ? "" : (cpuUs * kernelShare).toFixed(0),
    calls?.all.toFixed(1) ?? "",
    calls?.pageFaults.toFixed(1) ?? "",
  ];
  const ofSide = (name: string): string[] => [`${name} µs`, "kernel", "calls", "faults"];
  return padded({
    titles: ["", "wall µs", ...ofSide("server"), ...ofSide("clients"), "bytes"],
    lines: costs.map(({ name, wallUs, server, clients, bytes = Number.NaN }) => [
      name,
      wallUs.toFixed(0),
      ...side(server),
      ...side(clients),
      Number.isFinite(bytes) ? bytes.toFixed(0) : "",
    ]),
  });
}

/** The calls that make up most of what is made, by name. */
function callLines(costs: readonly Cost[]): readonly string[] {
  const most = (calls: Calls | undefined): string =>
    [...(calls?.named ?? [])]
      .filter(([, count]) => count >= 0.05)
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, count]) => `${name} ${count.toFixed(2)}`)
      .join(", ");
  return costs.map(
    ({ name, server, clients }) => `  ${name}: server ${most(server.calls)}; clients ${most(clients.calls)}`,
  );
}

/** Those that a word names; all, when no word names any. */
function chosen<T extends { readonly name: string }>(all: readonly T[], words: readonly string[]): readonly T[] {
  const named = all.filter(({ name }) => words.some((word) => name.includes(word)));
  return named.length === 0 ? all : named;
}

async function main(words: readonly string[]): Promise<void> {
  const { scenarios } = fullRun({ sessions: undefined, arrivals: "poisson", ratePerSecond: undefined });
  const here = scenarios.filter(({ name }) => (SCENARIOS as readonly string[]).includes(name));
  await using servers = new ServerPool(undefined);
  using pool = new LoaderPool<Subject | Floor>(async (who, loaders) =>
    warmUp(who, loaders, who.server && (await servers.get(who.server))),
  );
  for (const scenario of chosen(here, words)) {
    const wanted = chosen(await everybodyIn(scenario, servers), words);
    const costs = await measure(scenario, wanted, servers, pool);
    console.log(["", scenario.name, ...lines(costs), ...callLines(costs)].join("\n"));
  }
}

await main(process.argv.slice(2));
process.exit();
