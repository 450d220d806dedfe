/**
 * What one command costs in the engine alone: no socket, no store, no JSON.
 * Run: npm run bench:core (the same file on Node, Bun and Deno). Scenarios are interleaved over several rounds and the
 * median counts, because machines drift; the ratio of 100 000 waiters to 1 is what matters, not the nanoseconds.
 */

import { type LockCommand, Engine, Outbox } from "../src/core/index.ts";
import { runtimeName } from "./runtime.ts";

const ROUNDS = 7;
const OPERATIONS = 100_000;
/** The cost of a hand-off with 100 000 waiters may be at most this many times that with one. */
const RATIO_MAX = 5;

interface Scenario {
  readonly name: string;
  /** Prepares an engine and returns what is timed; that returns how many operations it did. */
  readonly prepare: (bench: Bench) => () => number;
}

/** An engine with one session, and time that creeps as it would under load. */
class Bench {
  readonly #engine = new Engine({
    limits: { claimsPerSessionMax: 2_000_000, waitersPerKeyMax: 2_000_000 },
  });
  readonly #outbox = new Outbox();
  #now = 0;
  #number = 0;

  constructor() {
    this.step({ kind: "open", session: "s", secret: "x", graceMs: 0 });
  }

  step(command: LockCommand): void {
    this.#outbox.clear();
    this.#now += 0.01;
    this.#engine.step(command, this.#now, this.#outbox);
  }

  /** Returns the number of the claim: `r<number>` is its request id, `t<number>` its token. */
  acquire(key: string, timeoutMs?: number): number {
    const number = ++this.#number;
    this.step({
      kind: "acquire",
      from: "s",
      request: `r${number}`,
      session: true,
      key,
      mode: "exclusive",
      newToken: `t${number}`,
      ...(timeoutMs === undefined ? undefined : { timeoutMs }),
    });
    return number;
  }

  release(key: string, number: number): void {
    this.step({ kind: "release", from: "s", request: `x${number}`, key, token: `t${number}` });
  }

  cancel(number: number): void {
    this.step({ kind: "cancel", from: "s", request: `r${number}` });
  }

  passTime(ms: number): void {
    this.#now += ms;
    this.step({ kind: "tick" });
  }

  expectHeld(key: string, count: number): void {
    this.step({ kind: "status", from: "s", request: "q", key });
    const effect = this.#outbox.effects[0];
    if (effect?.kind !== "status" || effect.waiting !== count) throw new Error(`expected ${count} waiters`);
  }
}

/** One hand-off = a release, which grants the head, and a new claim at the tail: the queue keeps its length. */
function handOff(waiters: number): Scenario {
  return {
    name: `hand-off, ${waiters.toLocaleString("en")} waiting`,
    prepare: (bench) => {
      let holder = bench.acquire("k");
      for (let i = 0; i < waiters; i++) bench.acquire("k");
      return () => {
        for (let i = 0; i < OPERATIONS; i++) {
          bench.release("k", holder++);
          bench.acquire("k");
        }
        bench.expectHeld("k", waiters);
        return OPERATIONS;
      };
    },
  };
}

const SCENARIOS: readonly Scenario[] = [
  handOff(1),
  handOff(1_000),
  handOff(100_000),
  {
    name: "uncontended acquire + release",
    prepare: (bench) => () => {
      for (let i = 0; i < OPERATIONS; i++) bench.release("k", bench.acquire("k"));
      return OPERATIONS;
    },
  },
  {
    name: "timeout storm, 100,000 at once",
    prepare: (bench) => {
      bench.acquire("k");
      for (let i = 0; i < OPERATIONS; i++) bench.acquire("k", 5_000);
      return () => {
        bench.passTime(10_000);
        bench.expectHeld("k", 0);
        return OPERATIONS;
      };
    },
  },
  {
    name: "cancel in the middle of 100,000",
    prepare: (bench) => {
      const first = bench.acquire("k");
      for (let i = 0; i < OPERATIONS; i++) bench.acquire("k");
      return () => {
        // A stride that shares no factor with the count visits every waiter once, out of order.
        for (let i = 0, at = 0; i < OPERATIONS; i++) {
          at = (at + 38_197) % OPERATIONS;
          bench.cancel(first + 1 + at);
        }
        bench.expectHeld("k", 0);
        return OPERATIONS;
      };
    },
  },
];

function main(): void {
  const times = SCENARIOS.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, scenario] of SCENARIOS.entries()) {
      const run = scenario.prepare(new Bench());
      const begun = performance.now();
      const operations = run();
      times[index]?.push(((performance.now() - begun) * 1e6) / operations);
    }
  }
  console.log(`\n${runtimeName()}, median of ${ROUNDS} rounds (lowest to highest)`);
  const medians = times.map((list) => {
    list.sort((a, b) => a - b);
    return list[ROUNDS >> 1] ?? Number.NaN;
  });
  for (const [index, scenario] of SCENARIOS.entries()) {
    const list = times[index] ?? [];
    const median = medians[index] ?? Number.NaN;
    console.log(
      `  ${scenario.name.padEnd(34)} ${median.toFixed(0).padStart(6)} ns  ${(1e9 / median).toExponential(2).padStart(9)}/s` +
        `  (${list[0]?.toFixed(0)}–${list.at(-1)?.toFixed(0)})`,
    );
  }
  const ratio = (medians[2] ?? Number.NaN) / (medians[0] ?? Number.NaN);
  const isWithin = ratio <= RATIO_MAX;
  console.log(`  100,000 waiting ÷ 1 waiting: ${ratio.toFixed(2)} (at most ${RATIO_MAX}: ${isWithin ? "yes" : "NO"})`);
  if (!isWithin) throw new Error("a hand-off must not cost more the longer the queue is");
}

main();
