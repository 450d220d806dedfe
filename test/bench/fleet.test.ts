import { expect, test } from "vitest";
import type { BenchClient, Held } from "../../bench/drivers/driver.ts";
import { ASSUMED, carriedBy, type Costs, type Load, mastersFor, scaled, spaceMax } from "../../bench/fleet/model.ts";
import { Watch } from "../../bench/fleet/watch.ts";

const COSTS: Costs = {
  emptyMicros: 100,
  pairMicros: 400,
  contendedMicros: 600,
  renewalMicros: 150,
  expiryMicros: 200,
  sessionMicros: 300,
  pushMicros: 10,
  sessionBytes: 1000,
  spaceBytes: 2000,
};

const QUIET: Load = {
  name: "quiet",
  sessions: 5,
  pairs: 0,
  waitShare: 0,
  renewals: 0,
  expiries: 0,
  lifeSeconds: Number.POSITIVE_INFINITY,
};
const BUSY: Load = { ...QUIET, name: "busy", sessions: 100, pairs: 1, waitShare: 0.5 };
const NO_POLLS = { ...ASSUMED, pollsPerSecond: 0 };

test("quiet spaces cost the polls of the servers that have sessions in them, and nothing else", () => {
  const assumed = { servers: 3, pollsPerSecond: 1, busyMax: 0.6 };
  // 3 polls of 100 µs a second each, of 600 000 µs.
  const carried = { spaces: 2000, sessions: 10_000, pairsPerSecond: 0, pollShare: 1 };
  expect(carriedBy(COSTS, QUIET, assumed)).toEqual({ ...carried, memoryBytes: 2000 * (2000 + 5 * 1000) });
  expect(carriedBy(COSTS, { ...QUIET, sessions: 1 }, assumed).spaces).toBe(6000);
});

test("a busy space costs its pairs, renewals, sessions and the leases that end", () => {
  const busy = (more: Partial<Load>): number => {
    const { spaces } = carriedBy(COSTS, { ...QUIET, sessions: 1, ...more }, NO_POLLS);
    return 600_000 / spaces;
  };
  expect(busy({ pairs: 1 })).toBe(400);
  expect(busy({ pairs: 1, waitShare: 0.5 })).toBe(500);
  expect(busy({ renewals: 1 })).toBe(150);
  expect(busy({ lifeSeconds: 1 })).toBe(300);
  expect(busy({ expiries: 1 })).toBe(200);
  // All servers that are in the space look, and all but one find nothing.
  expect(busy({ expiries: 1, sessions: 3 })).toBe(3 * 400);
});

test("a space is never carried by more than one master", () => {
  expect(spaceMax(COSTS, 0)).toBe(1500);
  expect(spaceMax(COSTS, 1)).toBe(1000);
});

test("masters are as many as share the work, and each has all pushes besides", () => {
  // 100 pairs of 500 µs are 50 000 µs a space, of which 50 pushes of 10 µs are on every master.
  expect(mastersFor(COSTS, BUSY, 12, NO_POLLS)).toBe(1);
  expect(mastersFor(COSTS, BUSY, 13, NO_POLLS)).toBe(2);
  expect(mastersFor(COSTS, BUSY, 120, NO_POLLS)).toBe(11);
  expect(mastersFor(COSTS, BUSY, 1200, NO_POLLS)).toBe(Number.POSITIVE_INFINITY);
});

test("a Redis at half the speed carries half, with as much memory a session", () => {
  const slower = scaled(COSTS, 2);
  expect(slower.sessionBytes).toBe(COSTS.sessionBytes);
  expect(spaceMax(slower, 0)).toBe(spaceMax(COSTS, 0) / 2);
});

test("the watch tells of two holders, and of a fence that does not rise", async () => {
  const told: string[] = [];
  const watch = new Watch((violation) => told.push(violation));
  const fences = [1, 2, 2, 3];
  const client: BenchClient = {
    acquire: async (): Promise<Held> => ({ fence: fences.shift(), release: () => Promise.resolve() }),
    drop: () => undefined,
    close: () => Promise.resolve(),
  };
  const [ada, bob] = [watch.over(client, "ada"), watch.over(client, "bob")];
  await (await ada.acquire("k", {})).release();
  const held = await bob.acquire("k", {});
  expect(told).toEqual([]);
  await held.release();
  await ada.acquire("k", {});
  expect(told).toEqual(["k: fence 2 after 2"]);
  await bob.acquire("k", {});
  expect(told.slice(1)).toEqual(["k: granted to bob while ada held it"]);
});
