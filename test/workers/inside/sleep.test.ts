import { runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { Calm } from "../../conformance/calm.ts";
import { World } from "./world.ts";

describe("an object that slept", () => {
  const calm = new Calm();
  calm.watch();

  test("carries on: the next release grants the right waiter, and fences rise", async () => {
    const world = new World();
    const one = await world.open();
    const two = await world.open();
    const held = await one.acquire("held");
    const other = await two.acquire("waited");
    const waiting = await one.acquire("waited", { answer: "queued" });
    const behind = await two.acquire("held", { answer: "queued" });
    await world.sleep();

    await two.release(other);
    const granted = await one.next("granted", waiting.id);
    expect(granted.fence).toBeGreaterThan(held.fence);
    await world.sleep();
    await one.release(held);
    expect((await two.next("granted", behind.id)).fence).toBeGreaterThan(granted.fence);
    expect((await world.call("held")).body).toMatchObject({ status: "held", waiting: 0 });
    expect(one.welcome?.epoch).toBe((await world.open()).welcome?.epoch);
  });

  test("answers a repeated request, a second release and a re-entry as if it had not", async () => {
    const world = new World();
    const session = await world.open();
    const held = await session.acquire("a");
    const gone = await session.acquire("b");
    await session.release(gone);
    await world.sleep();
    expect(await session.release(gone)).toMatchObject({ depth: 0, already: true });
    expect(await session.acquire("a", { token: held.token })).toMatchObject({ fence: held.fence, reentrant: true });
  });

  test("pings, and a client that answers lives on without waking it", async () => {
    const world = new World();
    const session = await world.open();
    const held = await session.acquire("a");
    for (let round = 0; round < 3; round++) {
      await world.sleep();
      await session.nextBare("ping");
      await session.nextBare("ack");
    }
    expect((await world.call("a")).body).toMatchObject({ holders: [{ fence: held.fence }] });
  });

  test("ends a client that does not answer, at its deadline and with its locks", calm.options, async () => {
    const world = new World();
    const silent = await world.open({}, { silent: true });
    const alive = await world.open();
    await silent.acquire("a");
    const startedAt = Date.now();
    const waiting = await alive.acquire("a", { answer: "queued" });
    await world.sleep();
    await alive.next("granted", waiting.id);
    const tookMs = Date.now() - startedAt;
    expect(tookMs).toBeGreaterThan(1400);
    expect(tookMs).toBeLessThan(2250);
    expect((await silent.closed).code).toBe(4410);
    expect(await world.rows("session")).toHaveLength(1);
  });

  test("keeps the time for a hello", async () => {
    const world = new World();
    const ws = await world.connect();
    const closed = new Promise<number>((resolve) => {
      ws.addEventListener("close", ({ code }) => resolve(code));
    });
    ws.accept();
    await world.sleep();
    expect(await closed).toBe(4408);
  });

  test("hears of a client that went away meanwhile, and grants the next", async () => {
    const world = new World();
    const leaving = await world.open();
    const staying = await world.open();
    await leaving.acquire("a");
    const waiting = await staying.acquire("a", { answer: "queued" });
    await world.sleep();
    leaving.close(1000);
    await staying.next("granted", waiting.id);
    expect((await leaving.closed).code).toBe(1000);
  });

  test("does not take a socket that it has closed for an open one", async () => {
    const world = new World();
    const session = await world.open();
    await session.acquire("a");
    session.send({ t: "bye" });
    await session.closed;
    await world.sleep();
    expect((await world.call("a")).body).toMatchObject({ status: "free" });
    expect(await world.rows("session")).toHaveLength(0);
  });
});

describe("an object that was started anew", () => {
  test("has ended every session without a socket by the time anybody can ask", async () => {
    const world = new World();
    const session = await world.open();
    await session.acquire("a");
    const held = await world.call("b/acquire", { ttl: 60_000 });
    await session.acquire("b", { answer: "queued" });
    await world.restart();
    expect((await world.call("a")).body).toMatchObject({ status: "free" });
    expect((await world.call("b")).body).toMatchObject({ holders: [{ fence: held.body["fence"] }], waiting: 0 });
    expect(await world.rows("session")).toHaveLength(0);
  });

  test("suspends a session with a grace, which resumes with all that it had", async () => {
    const world = new World();
    const first = await world.open({ grace: 30_000 });
    const held = await first.acquire("a");
    await world.restart();
    expect((await world.call("a")).body).toMatchObject({ holders: [{ fence: held.fence }] });
    const { session, secret, epoch } = first.welcome!;
    const again = await world.open({ grace: 30_000, resume: { session, secret } });
    expect(again.welcome).toMatchObject({ resumed: true, claims: [{ token: held.token, state: "holding" }] });
    expect(again.welcome?.epoch).toBeGreaterThan(epoch);
  });

  test("grants those who are left: what sessions let go in the first step goes to a kept place in the same step", async () => {
    const world = new World();
    const holder = await world.open();
    const graceful = await world.open({ grace: 30_000 });
    await holder.acquire("a");
    await graceful.acquire("a", { answer: "queued" });
    await world.restart();
    const { session } = graceful.welcome!;
    expect((await world.call("a")).body).toMatchObject({ holders: [{ session }], waiting: 0 });
  });

  test("gives a caller who comes back under its request id its place, and withdraws those who do not", async () => {
    const world = new World();
    const { body: held } = await world.call("a/acquire", { ttl: 60_000 });
    const waits = { ttl: 60_000, timeout: 60_000 };
    const broken = [
      world.call("a/acquire", { ...waits, request_id: "comes back" }).catch(() => undefined),
      world.call("a/acquire", { ...waits, request_id: "does not" }).catch(() => undefined),
    ];
    while ((await world.call("a")).body["waiting"] !== 2);
    // A crash: an eviction would wait for the calls.
    await world.inside((ctx) => (ctx as unknown as { abort(): void }).abort()).catch(() => undefined);
    await Promise.all(broken);
    expect((await world.call("a")).body).toMatchObject({ waiting: 2 });
    const again = world.call("a/acquire", { ...waits, request_id: "comes back" });
    await world.call("a/release", { token: held["token"] });
    const { body } = await again;
    expect(body).toMatchObject({ status: "acquired", reentrant: false });
    // Longer than a grant without a confirmation would last: nothing happens that could be waited for.
    await new Promise((resolve) => setTimeout(resolve, 5500));
    expect((await world.call("a")).body).toMatchObject({ holders: [{ fence: body["fence"] }], waiting: 0 });
  });
});

describe("an alarm", () => {
  test("that comes early, or twice, ends nothing early and grants nothing twice", async () => {
    const world = new World();
    const holder = await world.open();
    const next = await world.open();
    const held = await holder.acquire("a", { ttl: 2000 });
    const waiting = await next.acquire("a", { answer: "queued" });
    for (let times = 0; times < 3; times++) {
      await runDurableObjectAlarm(world.object);
      await world.inside((_, instance) => instance.alarm());
    }
    expect((await world.call("a")).body).toMatchObject({ holders: [{ fence: held.fence }], waiting: 1 });
    const granted = await next.next("granted", waiting.id);
    await world.inside((_, instance) => instance.alarm());
    expect((await world.call("a")).body).toMatchObject({ holders: [{ fence: granted.fence }], waiting: 0 });
    expect(next.frames.filter((text) => text.includes('"granted"'))).toEqual([]);
  });

  test("that comes late lets nobody act who was over in time", async () => {
    const world = new World();
    const { body } = await world.call("a/acquire", { ttl: 200 });
    await world.inside((ctx) => ctx.storage.deleteAlarm());
    // Until the lease is over by the clock of workerd, which is the real one, while the alarm that would tell of it is gone.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const extended = await world.call("a/extend", { token: body["token"], ttl: 5000 });
    expect(extended).toMatchObject({ status: 410, body: { reason: "expired" } });
  });

  test("is always set while something will be due", async () => {
    const world = new World();
    await world.call("a/acquire", { ttl: 60_000 });
    expect(await world.inside((ctx) => ctx.storage.getAlarm())).toBeLessThanOrEqual(Date.now() + 60_000);
    await world.call("b/acquire", { ttl: 10_000 });
    expect(await world.inside((ctx) => ctx.storage.getAlarm())).toBeLessThanOrEqual(Date.now() + 10_000);
    await world.sleep();
    await world.call("a");
    expect(await world.inside((ctx) => ctx.storage.getAlarm())).toBeLessThanOrEqual(Date.now() + 10_000);
  });
});
