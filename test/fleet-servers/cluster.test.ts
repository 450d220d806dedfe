import { describe, expect, test } from "vitest";
import { Caller } from "../conformance/caller.ts";
import { openSession } from "../conformance/socket.ts";
import { Cluster } from "./support/cluster.ts";
import { hasRedisServer } from "../fleet/support/redis-server.ts";
import { type Name, NAMES, Trio } from "./support/trio.ts";

const LEASE_MS = 10_000;
const SPACES = Array.from({ length: 12 }, (_, i) => `space-${i}`);
const KEY = "key";
const GRACEFUL = { grace: 30_000 };

describe.skipIf(!hasRedisServer())("three servers and a Redis Cluster of three masters", () => {
  test("spaces spread over the masters, each with all that it has on one, and keys are handed on as ever", async () => {
    await using cluster = await Cluster.start();
    const [first] = cluster.masters;
    await using trio = await Trio.start({ redis: first!.url, leaseMs: LEASE_MS });
    await Promise.all(SPACES.map((space, i) => useAll(trio, space, NAMES[i % NAMES.length]!)));

    const found = new Map<string, Set<number>>();
    for (const [i, master] of cluster.masters.entries()) {
      for (const name of await cluster.keys(master)) {
        const space = /\{(.+?)\}/.exec(name)?.[1] ?? name;
        found.set(space, (found.get(space) ?? new Set()).add(i));
      }
    }
    expect([...found.keys()].toSorted()).toEqual(SPACES.toSorted());
    expect([...found.values()].map(({ size }) => size)).toEqual(SPACES.map(() => 1));
    expect(new Set([...found.values()].flatMap((masters) => [...masters])).size).toBe(cluster.masters.length);
  });

  test("a master that is killed and started again: only its spaces wait for it, and nothing is lost", async () => {
    await using cluster = await Cluster.start();
    const [first] = cluster.masters;
    await using trio = await Trio.start({ redis: first!.url, leaseMs: LEASE_MS });
    const caller = (name: Name, space: string): Caller => new Caller(trio.get(name).url, { space });
    const held = await Promise.all(
      SPACES.map(async (space) => ({ space, ...(await caller("bun", space).acquire(KEY, { ttl: 60_000 })).body })),
    );
    const broken = cluster.masters[1]!;
    const names = await cluster.keys(broken);
    await broken.kill();
    const isThere = (space: string): boolean => !names.some((name) => name.includes(`{${space}}`));
    for (const { space, fence } of held.filter((each) => isThere(each.space))) {
      for (const name of NAMES) {
        expect((await caller(name, space).status(KEY)).body.holders).toMatchObject([{ fence }]);
      }
    }
    await broken.start();
    await cluster.ready();
    for (const [i, { space, token }] of held.entries()) {
      const name = NAMES[i % NAMES.length]!;
      expect((await caller(name, space).release(KEY, { token })).body).toEqual({ status: "released" });
    }
  });
});

/** Something of everything: a hand-off between servers, shared holders, a session with a grace, a record of idempotent work. */
async function useAll(trio: Trio, space: string, name: Name): Promise<void> {
  const other = NAMES[(NAMES.indexOf(name) + 1) % NAMES.length]!;
  using here = await openSession(trio.get(name).socketUrl, { space, ...GRACEFUL });
  using there = await openSession(trio.get(other).socketUrl, { space });
  const held = await here.acquire(KEY);
  const queued = await there.queue(KEY);
  await here.release(held);
  const next = await there.granted(queued);
  expect(next.fence).toBeGreaterThan(held.fence);
  await here.acquire("shared", { mode: "shared", limit: 2 });
  await there.acquire("shared", { mode: "shared", limit: 2 });
  const { attempt } = await here.ask({ t: "begin", key: "work" }, "started");
  await there.ask({ t: "begin", key: "work", timeout: 10_000, id: "waits" }, "attempt_queued");
  await here.ask({ t: "complete", key: "work", attempt, result: "done" }, "completed");
  await there.next("replay", "waits");
}
