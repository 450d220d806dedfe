import { describe, expect, test } from "vitest";
import { settle } from "./support/time.ts";
import { World } from "./support/world.ts";

describe("a drain", () => {
  test("tells each session when to come back, at different times, and closes 1012", async () => {
    const world = new World();
    const sockets = Array.from({ length: 20 }, () => world.session());
    await world.host.drain();
    const times = sockets.map((socket) => socket.frames("draining")[0]!.retry_after_ms);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(250);
    expect(Math.max(...times)).toBeLessThan(5000);
    expect(new Set(times).size).toBeGreaterThan(5);
    expect(sockets.every(({ closedWith }) => closedWith?.code === 1012)).toBe(true);
  });

  test("closes connections that have not said hello", async () => {
    const world = new World();
    const socket = world.connect();
    await world.host.drain();
    expect(socket.closedWith?.code).toBe(1012);
    expect(world.time.alarmAt).toBe(Number.POSITIVE_INFINITY);
  });

  test("ends sessions without a grace, and leaves those with one to the next host", async () => {
    const world = new World();
    const [plain, graceful] = [world.session(), world.session({ grace: 30_000 })];
    plain.acquire("plain", { ttl: 60_000 });
    const { token } = graceful.acquire("graceful");
    await world.host.drain();
    const host = world.restarted();
    const resumed = world.session({ resume: graceful.resume }, { host });
    expect(resumed.welcome).toMatchObject({ resumed: true, claims: [{ token, state: "holding" }] });
    expect(resumed.status("plain").status).toBe("free");
    expect(world.session({ resume: plain.resume }, { host }).closedWith?.code).toBe(4410);
  });

  test("answers callers that wait 503, and grants them nothing on the way out", async () => {
    const world = new World();
    world.session().acquire("k");
    const { answer } = await world.waitingCall("k", { ttl: 60_000 });
    const drained = world.host.drain();
    const { status, headers, body } = await answer;
    expect([status, body.code, body.retryable]).toEqual([503, "draining", true]);
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    await drained;
    expect(world.store.claimCount()).toBe(0);
  });

  test("answers callers whose command is still on its way as well", async () => {
    const world = new World();
    world.session().acquire("k");
    world.store.mode = "held";
    await world.waitingCall("busy");
    const { answer } = await world.waitingCall("k", { ttl: 60_000 });
    const drained = world.host.drain();
    world.store.mode = "sync";
    world.store.finish();
    expect(await answer).toMatchObject({ status: 503, body: { code: "draining" } });
    await drained;
    expect(world.store.isClosed).toBe(true);
  });

  test("takes no new work: 503, refused upgrades, 1012", async () => {
    const world = new World();
    await world.host.drain();
    const answer = await world.acquire("k");
    expect(answer).toMatchObject({ status: 503, body: { code: "draining", retryable: true } });
    expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(() => world.connect()).toThrow("503");
    const late = world.sockets.at(-1)!;
    world.host.opened(late);
    expect(late.frames("draining")).toHaveLength(1);
    expect(late.closedWith?.code).toBe(1012);
  });

  test("waits for what is not committed yet, then closes the store", async () => {
    const world = new World();
    world.session({ grace: 1000 });
    world.store.mode = "held";
    const drained = world.host.drain();
    await settle();
    expect(world.store.isClosed).toBe(false);
    world.store.finish();
    await drained;
    expect(world.store.isClosed).toBe(true);
  });

  test("twice is one drain, and close waits for it", async () => {
    const world = new World();
    const socket = world.session();
    await Promise.all([world.host.drain(), world.host.drain(), world.host.close()]);
    expect(socket.frames("draining")).toHaveLength(1);
  });
});

test("an answer that could not be sent is of no matter once the store is closed", async () => {
  const world = new World();
  const response = await world.host.fetch(world.request("POST", "/v1/latch/k/acquire", {}));
  await world.host.drain();
  world.host.undelivered(response);
  expect(world.errors).toEqual([]);
  expect(world.store.commits).toHaveLength(1);
});

describe("a close", () => {
  test("ends everything without a word", async () => {
    const world = new World();
    const socket = world.session();
    await world.host.close();
    expect(socket.frames("draining")).toEqual([]);
    expect(socket.closedWith?.code).toBe(1001);
    expect(world.store.isClosed).toBe(true);
  });
});
