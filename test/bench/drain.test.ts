import { expect, test } from "vitest";
import type { BenchClient, Driver, Held } from "../../bench/drivers/driver.ts";
import { Crew } from "../../bench/load/crew.ts";
import { drain } from "../../bench/load/drain.ts";

const CLIENTS = 4;

/** A line: each release lets the next in some turns of the loop later. `releasing` hears of each before it is done. */
async function crewOf(releasing: (crew: Crew) => void): Promise<Crew> {
  const all: Crew[] = [];
  const line: (() => void)[] = [];
  let isHeld = false;
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const held: Held = {
    release: async () => {
      for (const crew of all) releasing(crew);
      for (let turns = 0; turns < 20; turns++) await turn();
      const next = line.shift();
      if (next === undefined) isHeld = false;
      else next();
    },
  };
  const client: BenchClient = {
    acquire: async () => {
      if (isHeld) await new Promise<void>((resolve) => line.push(resolve));
      isHeld = true;
      return held;
    },
    drop: () => undefined,
    close: () => Promise.resolve(),
  };
  const can = { shared: true, limit: true, drop: true, keys: true, quiet: true, ordered: true, clientsMax: CLIENTS };
  const opened = { connect: () => Promise.resolve(client), close: () => Promise.resolve() };
  const driver: Driver = { name: "line", can, open: () => Promise.resolve(opened) };
  const plain = { keys: "hot", holdMs: 0, readers: 0, limit: undefined, floor: "relay" } as const;
  const scenario = { ...plain, name: "drain", shape: "drain", clients: CLIENTS } as const;
  const target = { url: "", row: "row", keys: ["k"] };
  const crew = new Crew({ driver: "line", target, scenario, serverPid: undefined }, driver, opened);
  all.push(crew);
  await crew.connect();
  return crew;
}

test("a pass lasts until the last in line has had its turn", async () => {
  const crew = await crewOf(() => undefined);
  await drain(crew, 1);
  const { record } = crew;
  // Of the three who wait from when the first lets go: longer than the second one, and not as short as the first one's.
  const { count, p50 = Number.NaN } = record.waits.summary() ?? {};
  expect(count).toBe(record.passes.length * (CLIENTS - 1));
  expect(Math.max(...record.passes)).toBeGreaterThan(p50);
});

test("a release is written down before the service hears of it: what the service does of it can only be later", async () => {
  const releases: number[] = [];
  const crew = await crewOf(({ record }) => releases.push(record.timeline.length));
  await crew.give(await crew.take(0));
  await crew.give(await crew.take(1));
  expect(releases).toEqual([1, 2]);
});
