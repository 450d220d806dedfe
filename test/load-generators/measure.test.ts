import { expect, test } from "vitest";
import { measure, type Servers } from "../../bench/harness/measure.ts";
import type { Row } from "../../bench/harness/results.ts";
import { GIVEN } from "../../bench/harness/subjects.ts";
import { start } from "../../bench/servers/kinds.ts";
import { HOT, type Fault, lockServer } from "./lock-server.ts";

/** One round, so that a row's medians are those of its one turn. */
async function measured(fault: Fault): Promise<readonly [floor: Row, subject: Row]> {
  const running = { given: await lockServer(fault), "floor-node": await start("floor-node") };
  const servers: Servers = {
    whyMissing: () => undefined,
    get: (kind) => Promise.resolve(running[kind as keyof typeof running]),
  };
  try {
    const turns = { rounds: 1, sliceMs: 100, loaders: 1 };
    const rows = await measure({ scenario: HOT, subjects: [GIVEN], skipped: [] }, turns, servers, () => undefined);
    expect(rows.map(({ subject }) => subject)).toEqual(["relay on node", "given ws-raw"]);
    return rows as unknown as readonly [Row, Row];
  } finally {
    for (const server of Object.values(running)) await server.stop();
  }
}

test("a row is given as multiples of its floor's turn: its time by the floor's, and its cycles by the floor's", async () => {
  const [floor, row] = await measured("none");
  const over = (of: (row: Row) => number | undefined): number => (of(row) ?? Number.NaN) / (of(floor) ?? Number.NaN);
  expect(row.floor).toBe("relay on node");
  expect(row.timeRatio?.median).toBeCloseTo(over(({ scoreNs }) => scoreNs?.median));
  expect(row.cycleRatio?.median).toBeCloseTo(over(({ cyclesPerSecond }) => cyclesPerSecond?.median));
  // Processor time is that of the floor's server, and not known of one that was given.
  expect(floor.serverShare).toBeGreaterThan(0);
  expect(floor.serverCpuMsPer1000).toBeCloseTo(
    ((floor.serverShare ?? 0) * 1e6) / (floor.cyclesPerSecond?.median ?? Number.NaN),
  );
  expect(row.serverShare).toBeUndefined();
  expect(row.loadShare).toBeLessThan(1.5);
});

test("a socket that drops in the middle of a row leaves it no figure, and its floor all of them", async () => {
  const [floor, row] = await measured("closes a socket");
  expect(row).toEqual({
    scenario: HOT.name,
    subject: "given ws-raw",
    floor: "relay on node",
    invalid: "a socket was closed with 1011",
  });
  expect(floor.cyclesPerSecond?.median).toBeGreaterThan(0);
});
