/**
 * What a deadline costs beside the runtime's own timer, and when it is served. Run: npm run bench:timers (Node, Bun and Deno).
 * Ours and the runtime's take turns over the same deadlines in the same process, and processor time is counted, so the ratios hold
 * on a busy machine. What is served late also says how busy the machine was: the native timers' own lateness stands beside it.
 */

import process from "node:process";
import { Deadlines, type Due } from "../src/core/deadlines.ts";
import type { Effect } from "../src/core/index.ts";
import { createAlarm } from "../src/host/alarm.ts";
import { systemClock } from "../src/host/clock.ts";
import { Space } from "../src/host/space.ts";
import { Timers } from "../src/host/timers.ts";
import { createMemoryStore } from "../src/stores/memory.ts";
import { median, quantile } from "./figures.ts";
import { runtimeName } from "./runtime.ts";

const COUNT = 1_000_000;
const ROUNDS = 5;
/** Add, refresh and cancel together, against the native timers. */
const RATIO_MAX = 0.5;

const EXPIRING = 100_000;
const WITHIN_MS = 1000;
/** From the first acquire to the first expiry: time enough to take them all. */
const LEAD_MS = 1500;
const FIRING_ROUNDS = 3;
const LATE_MAX_MS = 5;

// — what they cost —

const PARTS = ["add", "refresh", "cancel"] as const;
/** ns for each, in the order of PARTS. */
type Costs = readonly [number, number, number];

class Lease implements Due {
  deadline: number = Number.POSITIVE_INFINITY;
  slot = -1;
  readonly order: number;

  constructor(order: number) {
    this.order = order;
  }
}

function ours(ttls: Float64Array, shuffled: Uint32Array): Costs {
  const deadlines = new Deadlines<Lease>();
  const leases: Lease[] = [];
  let now = 0;
  const add = timed(() => {
    for (let i = 0; i < COUNT; i++) {
      const lease = new Lease(i);
      leases.push(lease);
      deadlines.set(lease, (now += 0.001) + (ttls[i] as number));
    }
  });
  const refresh = timed(() => {
    for (const i of shuffled) deadlines.set(leases[i] as Lease, (now += 0.001) + (ttls[i] as number));
  });
  // What a refresh leaves to be done is done when the old time comes: it belongs to its cost.
  const settle = timed(() => {
    if (deadlines.firstDue(now) !== undefined) throw new Error("a lease has expired");
    while (deadlines.next() !== deadlines.next()) continue;
  });
  const cancel = timed(() => {
    for (const i of shuffled) deadlines.remove(leases[i] as Lease);
  });
  if (deadlines.count !== 0) throw new Error("something is left");
  return [add, refresh + settle, cancel];
}

function native(ttls: Float64Array, shuffled: Uint32Array): Costs {
  const timers: ReturnType<typeof setTimeout>[] = [];
  const expire = (): void => {
    throw new Error("a timer has fired");
  };
  const add = timed(() => {
    for (let i = 0; i < COUNT; i++) timers.push(setTimeout(expire, ttls[i]));
  });
  const refresh = timed(() => {
    for (const i of shuffled) {
      clearTimeout(timers[i]);
      timers[i] = setTimeout(expire, ttls[i]);
    }
  });
  const cancel = timed(() => {
    for (const i of shuffled) clearTimeout(timers[i]);
  });
  return [add, refresh, cancel];
}

/** ns of processor time for each of COUNT: what else runs on the machine does not count, what tidies up the memory does. */
function timed(run: () => void): number {
  const begun = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(begun);
  return ((user + system) * 1000) / COUNT;
}

async function showCosts(name: string, ttlMs: () => number): Promise<boolean> {
  const ttls = Float64Array.from({ length: COUNT }, ttlMs);
  const shuffled = Uint32Array.from({ length: COUNT }, (_, i) => i);
  for (let i = COUNT - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [shuffled[i], shuffled[j]] = [shuffled[j] as number, shuffled[i] as number];
  }
  const rounds: { readonly own: Costs; readonly other: Costs }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({ own: ours(ttls, shuffled), other: native(ttls, shuffled) });
    // Deno cancels only when the loop turns.
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  console.log(`  ${COUNT.toLocaleString("en")} ttls, ${name}`);
  for (const [index, part] of PARTS.entries()) {
    report(
      part,
      rounds.map(({ own, other }) => [own[index] ?? Number.NaN, other[index] ?? Number.NaN]),
    );
  }
  const ratio = report(
    "all three",
    rounds.map(({ own, other }) => [sum(own), sum(other)]),
  );
  const isWithin = ratio <= RATIO_MAX;
  console.log(`    at most ${RATIO_MAX}: ${isWithin ? "yes" : "NO"}`);
  return isWithin;
}

function report(part: string, pairs: readonly (readonly [number, number])[]): number {
  const own = median(pairs.map(([cost]) => cost));
  const other = median(pairs.map(([, cost]) => cost));
  const ratios = pairs.map(([a, b]) => a / b);
  const range = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
  const ratio = median(ratios);
  console.log(
    `    ${part.padEnd(10)} ${own.toFixed(0).padStart(5)} ns  native ${other.toFixed(0).padStart(5)} ns  ` +
      `÷ native ${ratio.toFixed(2)} (${range})`,
  );
  return ratio;
}

function sum(costs: Costs): number {
  return costs[0] + costs[1] + costs[2];
}

// — when they are served —

/** By how much each was late, in ms; negative: it was early. */
type Lateness = readonly number[];

/** Leases that run out one after the other: engine, pump, timers and alarm, as in a server. */
function expireLeases(): Promise<Lateness> {
  return new Promise((resolve, reject) => {
    const lateness: number[] = [];
    const expiries = new Map<string, number>();
    const clock = systemClock;
    const timers = new Timers(createAlarm(clock, () => timers.run(clock.now())));
    const keepAlive = setInterval(() => undefined, 1000);
    const hear = (effect: Effect): void => {
      if (effect.kind === "granted") expiries.set(effect.request, effect.expiresAt ?? Number.NaN);
      if (effect.kind !== "ended") return;
      lateness.push(clock.now() - (expiries.get(effect.request) ?? Number.NaN));
      if (lateness.length < EXPIRING) return;
      clearInterval(keepAlive);
      timers.stop();
      resolve(lateness);
    };
    const failed = (): void => reject(new Error("the space has failed"));
    const space = new Space({
      name: "bench",
      clock,
      store: createMemoryStore(clock),
      timers,
      receiver: { effect: hear, stopped: failed, isVacant: false },
      options: { limits: { callerClaimsMax: EXPIRING } },
      serialFloor: 0,
      onError: reject,
      onStored: () => undefined,
      onExpiring: () => undefined,
      onFailed: failed,
      onIdle: () => undefined,
    });
    const begin = clock.now() + LEAD_MS;
    for (let i = 0; i < EXPIRING; i++) {
      const ttlMs = begin + (i * WITHIN_MS) / EXPIRING - clock.now();
      const address = { from: "@", request: `${i}`, key: `${i}`, newToken: `t${i}` } as const;
      space.submit({ kind: "acquire", ...address, session: false, mode: "exclusive", ttlMs });
    }
  });
}

function fireNative(): Promise<Lateness> {
  return new Promise((resolve) => {
    const lateness: number[] = [];
    const begin = performance.now() + LEAD_MS;
    for (let i = 0; i < EXPIRING; i++) {
      const at = begin + (i * WITHIN_MS) / EXPIRING;
      setTimeout(() => {
        lateness.push(performance.now() - at);
        if (lateness.length === EXPIRING) resolve(lateness);
      }, at - performance.now());
    }
  });
}

async function showFiring(): Promise<boolean> {
  const rounds: { readonly own: Lateness; readonly other: Lateness }[] = [];
  for (let round = 0; round < FIRING_ROUNDS; round++) {
    rounds.push({ own: await expireLeases(), other: await fireNative() });
  }
  const own = rounds.map((round) => round.own);
  const other = rounds.map((round) => round.other);
  console.log(`  ${EXPIRING.toLocaleString("en")} leases expire within ${WITHIN_MS} ms, through engine and alarm`);
  console.log(`    ours       ${describe(own)}`);
  console.log(`    native     ${describe(other)}`);
  const isWithin = earlyShare(own) === 0 && latest(own) <= LATE_MAX_MS;
  console.log(`    none early, p99 at most ${LATE_MAX_MS} ms: ${isWithin ? "yes" : "NO"}`);
  return isWithin;
}

function describe(rounds: readonly Lateness[]): string {
  const p99s = rounds.map((lateness) => quantile(lateness, 0.99));
  const range = `${Math.min(...p99s).toFixed(1)}–${Math.max(...p99s).toFixed(1)}`;
  const early = `${(earlyShare(rounds) * 100).toFixed(1)} % early`;
  return `${early.padStart(12)}, late p50 ${quantile(rounds.flat(), 0.5).toFixed(2)} ms, p99 ${latest(rounds).toFixed(1)} ms (${range})`;
}

function earlyShare(rounds: readonly Lateness[]): number {
  const all = rounds.flat();
  return all.filter((ms) => ms < 0).length / all.length;
}

function latest(rounds: readonly Lateness[]): number {
  return median(rounds.map((lateness) => quantile(lateness, 0.99)));
}

async function main(): Promise<void> {
  console.log(`\n${runtimeName()}, median of ${ROUNDS} rounds (lowest to highest)`);
  const same = await showCosts("all of 30 s", () => 30_000);
  const any = await showCosts("from 1 s to 60 s", () => 1000 + Math.floor(Math.random() * 59_000));
  const firing = await showFiring();
  if (!(same && any && firing)) process.exitCode = 1;
}

await main();
