import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { failuresOf } from "../../bench/harness/judge.ts";
import type { Servers } from "../../bench/harness/measure.ts";
import { ServerPool } from "../../bench/harness/pool.ts";
import type { Row } from "../../bench/harness/results.ts";
import { soak } from "../../bench/harness/soak.ts";
import { GIVEN, SUBJECTS } from "../../bench/harness/subjects.ts";
import { lockServer } from "./lock-server.ts";
import type { Fault } from "./locks.ts";

test("a soak has all that it is about: lines, memory, leases that ran out, holders that were cut, and nothing left at its end", async () => {
  await using pool = new ServerPool(undefined);
  // Small, and not to be taken for a process of ours.
  const asleep = spawn("sleep", ["1000"]);
  const servers: Servers = {
    whyMissing: () => undefined,
    get: async (kind) => ({ ...(await pool.get(kind)), pid: asleep.pid }),
  };
  const subjects = SUBJECTS.filter(({ name }) => name === "node ws-raw");
  const lines: string[] = [];
  const rows = await soak({ intervals: 2, intervalMs: 2_000 }, subjects, servers, (line) => lines.push(line));
  asleep.kill();
  expect(failuresOf(rows)).toEqual([]);
  const { samples = [], verdict } = rows[0]?.soak ?? {};
  expect(samples.map(({ atMs }) => atMs)).toEqual([2_000, 4_000]);
  // The titles, and a line for each interval.
  expect(lines).toHaveLength(3);
  for (const { residentBytes = 0, gauges, crashes, ownLateness } of samples) {
    expect(residentBytes).toBeGreaterThan(0);
    expect(residentBytes).toBeLessThan(10e6);
    // Those that are cut are connecting again.
    expect(gauges.sessions).toBeGreaterThan(40);
    expect(gauges.holding).toBeGreaterThan(0);
    expect(crashes).toBeGreaterThan(0);
    expect(ownLateness).not.toBeNull();
  }
  expect(verdict?.early).toBe(0);
  // No lease is longer than two seconds.
  expect(verdict?.latenessNs?.last).toBeGreaterThan(0);
  expect(rows[0]?.figures?.grants).toBeGreaterThan(100);
});

/** Longer than half of any lease. */
const SOAK_MS = 1_500;

async function soaked(fault: Fault): Promise<{ readonly rows: readonly Row[]; readonly emptyTold: number }> {
  const server = await lockServer(fault);
  try {
    const servers: Servers = { whyMissing: () => undefined, get: () => Promise.resolve(server) };
    const rows = await soak({ intervals: 1, intervalMs: SOAK_MS }, [GIVEN], servers, () => undefined);
    return { rows, emptyTold: server.emptyTold() };
  } finally {
    await server.stop();
  }
}

test("a server that ends leases before their time fails the run", async () => {
  const { rows } = await soaked("ends leases early");
  expect(failuresOf(rows)).toEqual([expect.stringMatching(/\d × a lease was ended before its time/)]);
});

test("a soak is over when the server says that it knows of nobody, and not before", async () => {
  const { rows, emptyTold } = await soaked("forgets the last session late");
  expect(failuresOf(rows)).toEqual([]);
  expect(emptyTold).toBe(1);
});
