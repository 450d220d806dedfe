/**
 * What a cycle of a lock takes: processor time in the program and in the kernel, calls of the kernel, and bytes, of the server and of
 * its clients, beside peers and floors. A row of the benchmark is bound by what takes most of it. All that is told here is counted
 * for the processes themselves; others on the machine make it larger by what they throw out of its caches, so that of all turns the one
 * tells that was disturbed least. Run: npm run bench:cycle; `-- drain` or `-- "bun ws-raw"` measures that alone.
 */

import process from "node:process";
import { bytesAt, type Calls, callsDuring } from "./cycle/calls.ts";
import { whyNot } from "./harness/eligible.ts";
import { LoaderPool } from "./harness/loader-pool.ts";
import type { Loaders } from "./harness/loaders.ts";
import { ServerPool } from "./harness/pool.ts";
import { type Floor, floorOf, type Subject, SUBJECTS } from "./harness/subjects.ts";
import { warmUp } from "./harness/warm-up.ts";
import { padded } from "./report/table.ts";
import { fullRun, type Scenario } from "./scenarios.ts";
import { pidsOf, type Usage, usageOf } from "./servers/proc.ts";
import type { BenchServer } from "./servers/server.ts";

const SCENARIOS = ["hot key 16", "drain 1024", "uncontended 128"] as const;
const WHO = /ws-raw|hand-over|redis-list|postgres/;
const TURNS = 15;
const TURN_MS = 200;
const TICK_MS = 10;

interface Side {
  readonly cpuUs: number;
  /** The part of it that is spent in the kernel, 0 to 1; undefined where many processes each took too little to tell. */
  readonly kernelShare: number | undefined;
  readonly calls: Calls | undefined;
}

/** Of one cycle. */
interface Cost {
  readonly name: string;
  readonly wallUs: number;
  readonly server: Side;
  readonly load: Side;
  readonly bytes: number | undefined;
}

interface Turn {
  readonly cycles: number;
  readonly wallUs: number;
  readonly server: Usage;
  readonly load: Usage;
}

async function measure(scenario: Scenario, who: Subject | Floor, server: BenchServer, loaders: Loaders): Promise<Cost> {
  const row = `${scenario.name}-${who.name}`.replaceAll(/\W/g, "-");
  const keys = Array.from({ length: scenario.keys === "own" ? scenario.clients : 1 }, (_, index) => `${row}:${index}`);
  await loaders.prepare({
    driver: who.driver,
    target: { url: server.url, row, keys },
    scenario,
    serverPid: server.pid,
  });
  const pids = { server: server.pid ?? 0, load: loaders.pids[0] ?? 0 };
  const usage = (pid: number): Usage => usageOf(pid) ?? { cpuMs: 0, userTicks: 0, systemTicks: 0, residentBytes: 0 };
  const turn = async (): Promise<Turn> => {
    const [serverBefore, loadBefore] = [usage(pids.server), usage(pids.load)];
    const { cycles, windowMs } = await loaders.slice(TURN_MS, true);
    const wallUs = (windowMs * 1000) / cycles;
    return { cycles, wallUs, server: less(usage(pids.server), serverBefore), load: less(usage(pids.load), loadBefore) };
  };
  await turn();
  const { port } = new URL(server.url);
  const bytesBefore = bytesAt(port) ?? Number.NaN;
  const turns: Turn[] = [];
  while (turns.length < TURNS) turns.push(await turn());
  const cycles = turns.reduce((sum, each) => sum + each.cycles, 0);
  const bytes = ((bytesAt(port) ?? Number.NaN) - bytesBefore) / cycles;
  const sideOf = async (side: "server" | "load"): Promise<Side> => {
    const sum = (of: keyof Usage): number => turns.reduce((total, each) => total + each[side][of], 0);
    const ticks = sum("userTicks") + sum("systemTicks");
    let counted = 0;
    const calls = await callsDuring(pidsOf(pids[side]), async () => {
      counted = (await loaders.slice(TURN_MS, true)).cycles;
    });
    return {
      cpuUs: least(turns.map((each) => (each[side].cpuMs * 1000) / each.cycles)),
      kernelShare: ticks * TICK_MS < sum("cpuMs") / 2 ? undefined : sum("systemTicks") / ticks,
      calls: calls && {
        all: calls.all / counted,
        pageFaults: calls.pageFaults / counted,
        named: new Map([...calls.named].map(([name, count]) => [name, count / counted])),
      },
    };
  };
  const wallUs = least(turns.map((each) => each.wallUs));
  const cost = { name: who.name, wallUs, server: await sideOf("server"), load: await sideOf("load"), bytes };
  await loaders.figures();
  return cost;
}

/** Of the turn that others disturbed least. */
function least(values: readonly number[]): number {
  return Math.min(...values.filter(Number.isFinite));
}

function less(after: Usage, before: Usage): Usage {
  return {
    cpuMs: after.cpuMs - before.cpuMs,
    userTicks: after.userTicks - before.userTicks,
    systemTicks: after.systemTicks - before.systemTicks,
    residentBytes: after.residentBytes,
  };
}

function lines(costs: readonly Cost[]): readonly string[] {
  const side = ({ cpuUs, kernelShare, calls }: Side): string[] => [
    cpuUs.toFixed(0),
    kernelShare === undefined ? "" : (cpuUs * kernelShare).toFixed(0),
    calls?.all.toFixed(1) ?? "",
    calls?.pageFaults.toFixed(1) ?? "",
  ];
  return padded({
    titles: [
      "",
      "wall µs",
      "server µs",
      "kernel",
      "calls",
      "faults",
      "clients µs",
      "kernel",
      "calls",
      "faults",
      "bytes",
    ],
    lines: costs.map(({ name, wallUs, server, load, bytes = Number.NaN }) => [
      name,
      wallUs.toFixed(0),
      ...side(server),
      ...side(load),
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
  return costs.map(({ name, server, load }) => `  ${name}: server ${most(server.calls)}; clients ${most(load.calls)}`);
}

async function main(words: readonly string[]): Promise<void> {
  const isWanted = (name: string, all: readonly string[]): boolean => {
    const named = words.filter((word) => all.some((each) => each.includes(word)));
    return named.length === 0 || named.some((word) => name.includes(word));
  };
  const subjects = SUBJECTS.filter(({ name, floor }) => WHO.test(name) && floor !== "workerd");
  const scenarios = fullRun({ sessions: undefined, arrivals: "poisson", ratePerSecond: undefined }).scenarios;
  await using servers = new ServerPool(undefined);
  using pool = new LoaderPool<Subject | Floor>(async (who, loaders) =>
    warmUp(who, loaders, who.server && (await servers.get(who.server))),
  );
  for (const name of SCENARIOS) {
    const scenario = scenarios.find((each) => each.name === name);
    if (scenario === undefined || !isWanted(name, SCENARIOS)) continue;
    const floors = new Map<string, Floor>();
    const everybody = new Map<string, Subject>();
    for (const subject of subjects) {
      if ((await whyNot(scenario, subject)) !== undefined) continue;
      everybody.set(subject.name, subject);
      const floor = floorOf(subject, scenario);
      if (floor !== undefined) floors.set(floor.name, floor);
    }
    const costs: Cost[] = [];
    const all = [...floors.values(), ...everybody.values()];
    for (const who of all) {
      const names = all.map((each) => each.name);
      if (!isWanted(who.name, names) || who.server === undefined) continue;
      if (servers.whyMissing(who.server) !== undefined) continue;
      const loaders = await pool.take(who, 1);
      costs.push(await measure(scenario, who, await servers.get(who.server), loaders));
      await pool.giveBack(who, loaders);
    }
    console.log(["", name, ...lines(costs), ...callLines(costs)].join("\n"));
  }
}

await main(process.argv.slice(2));
process.exit();
