import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { LockTimeoutError } from "../../../src/client/index.ts";
import { latchkey } from "../../../runtimes/workers.ts";
import { locksOf } from "../../../src/workers/locks.ts";
import type { LockObject } from "../../../src/workers/objects.ts";
import { World } from "./world.ts";

test("a Worker's own code takes locks without HTTP and without a key", async () => {
  const world = new World();
  const locks = latchkey(env).locks(world.space);
  const lock = await locks.tryAcquire("a", { ttl: 5000, meta: { from: "code" } });
  expect(lock).toMatchObject({ key: "a", mode: "exclusive" });
  expect(await locks.tryAcquire("a")).toBeNull();
  await expect(locks.acquire("a", { timeout: 50 })).rejects.toThrow(LockTimeoutError);
  expect(await locks.status("a")).toMatchObject({ holders: [{ fence: lock!.fence, meta: { from: "code" } }] });
  await lock!.extend(60_000);
  await lock!.release();
  expect(await locks.withLock("a", ({ fence }) => fence)).toBeGreaterThan(lock!.fence);
  expect(await locks.list()).toEqual({ keys: [] });
});

test("its wait ends with the grant to it, and sessions and code share one queue", async () => {
  const world = new World();
  const session = await world.open();
  const locks = latchkey(env).locks(world.space);
  const held = await session.acquire("a");
  const waiting = locks.acquire("a", { ttl: 60_000 });
  while ((await world.call("a")).body["waiting"] !== 1);
  await session.release(held);
  await using lock = await waiting;
  expect(lock.fence).toBeGreaterThan(held.fence);
});

test("an acquire that was given up has no turn for long", async () => {
  const world = new World();
  const session = await world.open();
  const locks = latchkey(env).locks(world.space);
  const held = await session.acquire("a");
  const stop = new AbortController();
  const waiting = locks.acquire("a", { ttl: 60_000, signal: stop.signal });
  while ((await world.call("a")).body["waiting"] !== 1);
  const behind = await session.acquire("a", { answer: "queued" });
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await session.release(held);
  await session.next("granted", behind.id);
});

test("its wait does not end with a grant that was taken back before it knew of it", async () => {
  const world = new World();
  const session = await world.open();
  const held = await session.acquire("a");
  // Its answers come so late that the object has stopped waiting for a word of them.
  const late: LockObject = {
    fetch: (request) => world.object.fetch(request),
    ask: (asked) => world.object.ask(asked),
    drain: () => world.object.drain(),
    async confirm(name, isDelivered) {
      await world.object.confirm(name, false);
      return world.object.confirm(name, isDelivered);
    },
  };
  const locks = locksOf(world.space, { object: () => late, parts: () => [late] });
  const waiting = locks.acquire("a", { ttl: 60_000, timeout: 3000 });
  while ((await world.call("a")).body["waiting"] !== 1);
  const behind = await session.acquire("a", { answer: "queued" });
  await session.release(held);
  await session.next("granted", behind.id);
  await expect(waiting).rejects.toThrow(LockTimeoutError);
});

test("only what is Latchkey's is answered", async () => {
  expect(latchkey(env).fetch(new Request("http://localhost/mine"))).toBeUndefined();
  const health = await latchkey(env).fetch(new Request("http://localhost/healthz"));
  expect(await health?.json()).toEqual({ status: "ok" });
});

test("a drain tells every session when to come back, and the object serves on", async () => {
  const world = new World();
  const session = await world.open();
  await session.acquire("a");
  await latchkey(env).drain(world.space);
  expect((await session.next("draining")).retry_after_ms).toBeGreaterThan(0);
  expect((await session.closed).code).toBe(1012);
  const again = await world.open();
  await again.acquire("a");
});

test("without keys only loopback names are served", async () => {
  const strange = await latchkey(env).fetch(new Request("https://latchkey.example.workers.dev/v1/latch/a"));
  expect(strange?.status).toBe(403);
});
