import { expect, test } from "vitest";
import { LoaderPool } from "../../bench/harness/loader-pool.ts";
import type { Loaders } from "../../bench/harness/loaders.ts";
import { GIVEN } from "../../bench/harness/subjects.ts";
import type { Figures, Job } from "../../bench/load/job.ts";
import { threadTimesOf, usedMs } from "../../bench/servers/proc.ts";
import { HOT, lockServer } from "./lock-server.ts";

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

const who = { name: "mutex on node", driver: "mutex", load: "node" } as const;

async function violations(count: number): Promise<number> {
  using pool = new LoaderPool();
  const loaders = await pool.take(who, count);
  const figures = await row(loaders);
  return figures.violations;
}

async function row(loaders: Loaders): Promise<Figures> {
  await loaders.prepare(job);
  // A machine that stands still meanwhile lets nothing happen in one.
  for (let cycles = 0; cycles <= 50;) cycles += (await loaders.slice(100, false)).cycles;
  return loaders.figures();
}

test("a lock that excludes within a process but not between processes is found out by several load generators", async () => {
  expect(await violations(1)).toBe(0);
  expect(await violations(2)).toBeGreaterThan(10);
});

test("a load generator is warmed once, and serves row after row, of which none sees the one before", async () => {
  const warmed: Loaders[] = [];
  using pool = new LoaderPool(async (_who, loaders) => void warmed.push(loaders));
  const pids: (readonly (number | undefined)[])[] = [];
  for (let rows = 0; rows < 2; rows++) {
    const loaders = await pool.take(who, 1);
    pids.push(loaders.pids);
    const { fairness, violations: found } = await row(loaders);
    expect(fairness?.grants).toHaveLength(job.scenario.clients);
    expect(found).toBe(0);
    await pool.giveBack(who, loaders);
  }
  expect(pids[1]).toEqual(pids[0]);
  expect(warmed).toHaveLength(1);
});

test("rows at the same time have load generators of their own, and one that failed is not used again", async () => {
  using pool = new LoaderPool();
  const first = await pool.take(who, 1);
  const second = await pool.take(who, 1);
  expect(second.pids).not.toEqual(first.pids);
  await expect(first.prepare({ ...job, driver: "none" })).rejects.toThrow("there is no driver none");
  pool.discard(first);
  await second.prepare(job);
  await pool.giveBack(who, second);
  expect((await pool.take(who, 1)).pids).toEqual(second.pids);
  expect((await pool.take(who, 1)).pids).not.toEqual(first.pids);
});

test("whoever polls has load generators for one row only", async () => {
  using pool = new LoaderPool();
  const poller = { name: "polling", driver: "polling", load: "node" } as const;
  const first = await pool.take(poller, 1);
  await pool.giveBack(poller, first);
  expect((await pool.take(poller, 1)).pids).not.toEqual(first.pids);
});

test.runIf(process.platform === "linux")(
  "what a load generator took of its core is its time in the kernel, too, which is where frames are sent",
  async () => {
    const server = await lockServer("none");
    using pool = new LoaderPool();
    const loaders = await pool.take(GIVEN, 1);
    const timesOf = (): ReadonlyMap<string, number> => threadTimesOf(loaders.pids[0] ?? 0);
    try {
      await loaders.prepare({ ...job, ...GIVEN, scenario: HOT, target: { ...job.target, url: server.url } });
      // What is beside the turns is little when they are long.
      let told = 0;
      let used = 0;
      while (used < 100) {
        const before = timesOf();
        told += (await loaders.slice(200, false)).loadCpuMs;
        used += usedMs(before, timesOf());
      }
      expect(told / used).toBeGreaterThan(0.9);
      expect(told / used).toBeLessThan(1.02);
    } finally {
      await server.stop();
    }
  },
);
