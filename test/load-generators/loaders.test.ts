import { expect, test } from "vitest";
import { Loaders } from "../../bench/harness/loaders.ts";
import type { Job } from "../../bench/load/job.ts";

/** Each process has its own, so that two processes have two locks of one name. */
const job: Job = {
  driver: "mutex",
  target: { url: "", row: "row", keys: ["k"] },
  scenario: {
    name: "any",
    shape: "cycles",
    clients: 4,
    keys: "hot",
    holdMs: 1,
    readers: 0,
    limit: undefined,
    floor: "relay",
  },
  serverPid: undefined,
};

async function violations(count: number): Promise<number> {
  const loaders = new Loaders("node", true, count);
  try {
    await loaders.prepare(job);
    const { cycles } = await loaders.slice(100, false);
    expect(cycles).toBeGreaterThan(10);
    return (await loaders.figures()).violations;
  } finally {
    loaders.kill();
  }
}

test("a lock that excludes within a process but not between processes is found out by several load generators", async () => {
  expect(await violations(1)).toBe(0);
  expect(await violations(2)).toBeGreaterThan(10);
});
