import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { failuresOf } from "../../bench/harness/judge.ts";
import type { Servers } from "../../bench/harness/measure.ts";
import { ServerPool } from "../../bench/harness/pool.ts";
import { soak } from "../../bench/harness/soak.ts";
import { SUBJECTS } from "../../bench/harness/subjects.ts";

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
