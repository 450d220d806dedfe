import { expect, test } from "vitest";
import type { BenchClient, Driver, Held } from "../../bench/drivers/driver.ts";
import { Crew } from "../../bench/load/crew.ts";
import { OpenLoop } from "../../bench/load/open.ts";

const CLIENTS = 2;
const ARRIVALS = 40;

/** Everybody is granted at once, but for the first one who comes when the gate is open: it has to wait until all have come. */
async function crewThatStalls(): Promise<Crew> {
  const all: Crew[] = [];
  let stalled: Promise<void> | undefined;
  const held: Held = { release: () => Promise.resolve() };
  const client: BenchClient = {
    acquire: async () => {
      const gate = all[0]?.gate;
      // It comes a millisecond after the beginning, or later.
      if (gate?.isOpen === true) await (stalled ??= untilNs(() => gate.nowNs(), gate.nowNs() + (ARRIVALS - 1) * 1e6));
      return held;
    },
    drop: () => undefined,
    close: () => Promise.resolve(),
  };
  const can = { shared: true, limit: true, drop: true, keys: true, quiet: true, ordered: true, clientsMax: CLIENTS };
  const opened = { connect: () => Promise.resolve(client), close: () => Promise.resolve() };
  const driver: Driver = { name: "stalls", can, open: () => Promise.resolve(opened) };
  const scenario = {
    name: "open",
    shape: "open",
    clients: CLIENTS,
    keys: "hot",
    holdMs: 0,
    readers: 0,
    limit: undefined,
    floor: "relay",
  } as const;
  const target = { url: "", row: "row", keys: ["k"] };
  const crew = new Crew({ driver: "stalls", target, scenario, serverPid: undefined }, driver, opened);
  all.push(crew);
  await crew.connect();
  return crew;
}

async function untilNs(now: () => number, ns: number): Promise<void> {
  while (now() < ns) await new Promise((resolve) => setImmediate(resolve));
}

// A slow machine makes every wait longer: what is expected here is the least.
test("whoever could not ask as all clients were stuck waits from its planned time, and nobody who came is left out", async () => {
  const crew = await crewThatStalls();
  const loop = new OpenLoop(crew, { kind: "fixed", rate: { perSecond: 1000 } });
  crew.record.beginSlice();
  await loop.turn(ARRIVALS);
  // One each millisecond, of which the last would be at the end.
  expect(crew.record.scores).toHaveLength(ARRIVALS - 1);
  const waits = crew.record.scores.toSorted((a, b) => b - a);
  for (const [index, ns] of waits.entries()) expect(ns).toBeGreaterThanOrEqual((ARRIVALS - 1 - index) * 1e6 - 1);
  const late = loop.lateness.summary();
  expect(late?.count).toBe(ARRIVALS - 1);
  // All but the two who were stuck could ask only then: half of them were late by half of the time.
  expect(late?.p50).toBeGreaterThan((ARRIVALS / 2 - 3) * 1e6);
});
