import { describe, expect, test } from "vitest";
import { pause } from "../../src/client/clock.ts";
import { type AcquireOptions, LatchkeyError } from "../../src/client/index.ts";
import { type Machine, World, type WorldOptions } from "./support/simulated-world.ts";
import { outcome } from "./support/virtual-time.ts";

const KEYS = ["a", "b"];

/** `SEED=…` replays one that failed. */
const only = process.env["SEED"];
const SEEDS = only === undefined ? Array.from({ length: 10 }, (_, index) => index + 1) : [Number(only)];

/** Takes locks, works under them for a while and lets them go, whatever happens to the connection. */
async function work(world: World, machine: Machine, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await pause(machine, world.between(0, 400));
    try {
      await one(world, machine);
    } catch (error) {
      if (!(error instanceof LatchkeyError) && error !== "gave up") throw error;
    }
  }
}

async function one(world: World, machine: Machine): Promise<void> {
  const { client } = machine;
  const key = world.pick(KEYS);
  const immediate = world.random() < 0.3;
  const leased = world.random() < 0.5;
  const stop = new AbortController();
  if (world.random() < 0.2) machine.timer(world.between(0, 1_500), () => stop.abort("gave up"));
  const options: AcquireOptions = {
    signal: stop.signal,
    ...(immediate ? { timeout: 0 } : { timeout: world.pick([500, 5_000, 60_000]) }),
    ...(leased && { ttl: world.pick([800, 3_000, 20_000]) }),
  };
  const lock = await client.acquire(key, options);
  const { signal, token } = lock;
  if (signal.aborted) return;
  world.believe(token, machine);
  signal.addEventListener("abort", () => world.disbelieve(token, true), { once: true });
  if (world.random() < 0.3 && leased) await lock.extend(world.pick([800, 3_000])).catch(() => undefined);
  await pause(machine, world.between(0, 1_500));
  if (world.random() < 0.3) {
    const inner = await client.acquire(key, { reentrant: true, timeout: 2_000 }).catch(() => undefined);
    await pause(machine, world.between(0, 300));
    // Re-entry in a lock that was lost meanwhile is a fresh acquire, which may have been granted.
    inner?.release().catch(() => undefined);
  }
  world.disbelieve(token, lock.signal.aborted);
  await lock.release();
}

async function run(options: WorldOptions): Promise<World> {
  const world = new World(options);
  const workers = world.machines.flatMap((machine) => [work(world, machine, 12), work(world, machine, 12)]);
  const finished = Promise.all(workers).catch((error: unknown) => world.wrong.push(String(error)));
  for (let fault = 0; fault < 12; fault++) {
    await world.time.advance(world.between(200, 4_000));
    world.fault();
  }
  for (let left = 60; (await outcome(finished)) === "pending"; left--) {
    if (left === 0) {
      world.wrong.push("not all workers have finished");
      break;
    }
    await world.time.advance(5_000);
  }
  for (const { client } of world.machines) client.close().catch((error: unknown) => world.wrong.push(String(error)));
  await world.time.advance(options.graceMs + 10_000);
  return world;
}

describe.each([
  { name: "without a grace", graceMs: 0 },
  { name: "with a short grace", graceMs: 1_500 },
  { name: "with a long grace", graceMs: 10_000 },
])("$name", ({ graceMs }) => {
  describe.each([
    { network: "a steady network", travelMs: [10, 40] as const },
    { network: "a wild network", travelMs: [1, 400] as const },
  ])("over $network", ({ travelMs }) => {
    test("no client believes in a lock that the server has ended, and nothing is left behind", async () => {
      let grants = 0;
      for (const seed of SEEDS) {
        const world = await run({ seed, graceMs, travelMs });
        const { claims, sessions, keys } = world.engine.counts();
        expect({ seed, wrong: world.wrong, claims, sessions, keys }).toEqual({
          seed,
          wrong: [],
          claims: 0,
          sessions: 0,
          keys: 0,
        });
        grants += world.grants;
      }
      // It would prove little if hardly anything was ever held.
      expect(grants).toBeGreaterThan(20 * SEEDS.length);
    });
  });
});
