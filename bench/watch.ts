/**
 * What it costs a hand-off that a thousand watch its key. Two pairs of sessions hand a key each to one another, 1 000 times a
 * second; one key is watched by 1 000 sessions, the other by nobody. Turns of a quarter of a second go round, and each ratio is one of
 * neighbours, so they hold on a busy machine. Run: npm run bench:watch; `-- bun` measures one runtime alone.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { median, quantile } from "./figures.ts";
import { arePinned, onCores } from "./servers/cores.ts";
import { program, type RuntimeName, RUNTIMES, start } from "./servers/kinds.ts";
import { inRepository } from "./servers/paths.ts";
import { usageOf } from "./servers/proc.ts";
import type { Told } from "./watch/crowd.ts";
import { CHANGES_EACH, Pair } from "./watch/pair.ts";

const WATCHERS = 1000;
const ROUNDS = 15;
const TURN_MS = 250;
const PER_SECOND = 1000;
const RATIO_MAX = 1.5;
/** What a turn has brought about is told before the next one begins. */
const SETTLE_MS = 60;
/** Set where this program has been put on the cores for load generators. */
const PINNED = "LATCHKEY_BENCH_PINNED";

interface Turn {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly handOffs: number;
  readonly serverMs: number;
}

/** Answers by what its watchers were told since the last time. */
interface Crowd {
  told(): Promise<Told>;
  end(): Promise<void>;
}

async function startCrowd(url: string, key: string): Promise<Crowd> {
  const command = [...program("node"), inRepository("bench/watch/crowd.ts"), url, key, String(WATCHERS)];
  // The readers are a thousand other machines: they give way to the two whose hand-off is timed.
  const [binary = "", ...args] = onCores("load", ["nice", "-n", "19", ...command]);
  const child = spawn(binary, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const next = async (): Promise<Told> => JSON.parse(String((await once(lines, "line"))[0])) as Told;
  await next();
  return {
    told: () => {
      const told = next();
      child.stdin.write("\n");
      return told;
    },
    end: async () => {
      const ended = once(child, "close");
      child.stdin.end();
      await ended;
    },
  };
}

async function turn(pair: Pair, pid: number | undefined): Promise<Turn> {
  const cpuOf = (): number => (pid === undefined ? Number.NaN : (usageOf(pid)?.cpuMs ?? Number.NaN));
  const before = cpuOf();
  const took = await pair.turn(TURN_MS, PER_SECOND);
  await sleep(SETTLE_MS);
  return {
    p50Ms: quantile(took, 0.5),
    p99Ms: quantile(took, 0.99),
    handOffs: took.length,
    serverMs: cpuOf() - before,
  };
}

/** Whether it is within the target. */
async function measure(runtime: RuntimeName): Promise<boolean> {
  const server = await start(`latchkey-${runtime}`);
  const alone = await Pair.open(server.url, "alone");
  const watched = await Pair.open(server.url, "watched");
  const crowd = await startCrowd(server.url, "watched");
  try {
    const turns: { alone: Turn; watched: Turn; told: Told }[] = [];
    // The first rounds are for the compilers.
    for (let round = -2; round < ROUNDS; round++) {
      const without = await turn(alone, server.pid);
      await crowd.told();
      const withCrowd = await turn(watched, server.pid);
      const told = await crowd.told();
      if (round >= 0) turns.push({ alone: without, watched: withCrowd, told });
    }
    return tell(turns);
  } finally {
    await crowd.end();
    await alone.close();
    await watched.close();
    await server.stop();
  }
}

function tell(turns: readonly { alone: Turn; watched: Turn; told: Told }[]): boolean {
  const middle = (of: (turn: (typeof turns)[number]) => number): number => median(turns.map(of));
  const ratios = turns.map(({ alone, watched }) => watched.p50Ms / alone.p50Ms);
  const perSecond = 1000 / (TURN_MS + SETTLE_MS);
  const states = middle(({ told }) => told.states);
  const extraMs = middle(({ alone, watched }) => watched.serverMs - alone.serverMs);
  const row = (name: string, of: (turn: (typeof turns)[number]) => Turn): void =>
    console.log(
      `    ${name.padEnd(22)} p50 ${middle((all) => of(all).p50Ms).toFixed(3)} ms  p99 ${middle((all) => of(all).p99Ms).toFixed(2)} ms` +
        `  ${Math.round(middle((all) => of(all).handOffs) * (1000 / TURN_MS))} hand-offs/s  server ${Math.round(middle((all) => of(all).serverMs) * perSecond)} ms/s`,
    );
  row("nobody watches", (all) => all.alone);
  row(`${WATCHERS} watch`, (all) => all.watched);
  const changes = middle(({ watched }) => watched.handOffs) * CHANGES_EACH;
  console.log(
    `    ${Math.round(changes * (1000 / TURN_MS))} changes/s; a watcher is told ${(states / WATCHERS).toFixed(1)} states in a turn of ${TURN_MS} ms` +
      ` (${middle(({ told }) => told.fewest)}–${middle(({ told }) => told.most)}), each costs the server ${((extraMs * 1000) / states).toFixed(1)} µs`,
  );
  const ratio = median(ratios);
  const isHeld = ratio <= RATIO_MAX;
  console.log(
    `    hand-off p50, watched ÷ not: ${ratio.toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}),` +
      ` at most ${RATIO_MAX}: ${isHeld ? "holds" : "DOES NOT HOLD"}`,
  );
  return isHeld;
}

/** On the cores for load generators, if there are any: the server has one to itself. */
async function onLoadCores(): Promise<boolean> {
  if (!arePinned() || process.env[PINNED] !== undefined) return false;
  const [binary = "", ...args] = onCores("load", [process.execPath, ...process.argv.slice(1)]);
  const child = spawn(binary, args, { stdio: "inherit", env: { ...process.env, [PINNED]: "1" } });
  const [code] = (await once(child, "close")) as [number | null];
  process.exitCode = code ?? 1;
  return true;
}

async function main(wanted: readonly string[]): Promise<void> {
  if (await onLoadCores()) return;
  for (const runtime of RUNTIMES) {
    if (wanted.length > 0 && !wanted.includes(runtime)) continue;
    console.log(`\n${runtime}`);
    if (!(await measure(runtime))) process.exitCode = 1;
  }
}

await main(process.argv.slice(2));
