import { expect, onTestFinished, test } from "vitest";
import { createLatchkey, type Embedded } from "../../src/index.ts";

function start(options?: Parameters<typeof createLatchkey>[0]): Embedded {
  const latchkey = createLatchkey(options);
  onTestFinished(() => latchkey.close());
  return latchkey;
}

test("locks within one process are granted one after the other, in order", async () => {
  const { connect } = start();
  const order: string[] = [];
  const clients = [connect(), connect(), connect()];
  await Promise.all(clients.map((client) => client.ready));
  const fences = await Promise.all(
    clients.map((client, i) =>
      client.withLock("key", async ({ fence }) => {
        order.push(`${i} in`);
        await Promise.resolve();
        order.push(`${i} out`);
        return fence;
      }),
    ),
  );

  expect(order).toEqual(["0 in", "0 out", "1 in", "1 out", "2 in", "2 out"]);
  expect(fences).toEqual(fences.toSorted((a, b) => a - b));
});

test("keys that are no well-formed text stay apart", async () => {
  const { locks } = start();
  const held = await Promise.all(["", "\u0000", "\ud800", "\ud801", "\ufffd"].map((key) => locks.tryAcquire(key)));

  expect(held.map((lock) => lock?.key)).toEqual(["", "\u0000", "\ud800", "\ud801", "\ufffd"]);
});

test("a session that is closed lets go at once", async () => {
  const { connect, locks } = start();
  const client = connect();
  const lock = await client.acquire("key");
  const next = locks.acquire("key");
  await client.close();

  expect((await next).fence).toBeGreaterThan(lock.fence);
  expect(lock.signal.aborted).toBe(true);
});

test("spaces do not see each other", async () => {
  const { connect, locks } = start();
  await locks.acquire("key");

  expect(await connect({ space: "other" }).tryAcquire("key")).not.toBeNull();
  expect(await connect().tryAcquire("key")).toBeNull();
});

test("whoever runs in the process needs no key and may do everything", async () => {
  const { connect, locks } = start({ keys: [{ secret: "correct-horse", name: "ci", permissions: [] }] });
  const lock = await locks.acquire("key");
  await connect().acquire("key", { steal: true, message: "mine" });

  expect(await lock.lost).toMatchObject({ reason: "stolen", by: { message: "mine" } });
});

test("a process that is busy for longer than the deadline loses nothing", async () => {
  const { locks } = start({ heartbeatMs: 5, deadlineMs: 10 });
  const lock = await locks.acquire("key");
  const until = performance.now() + 60;
  while (performance.now() < until);
  await new Promise((resolve) => setTimeout(resolve));

  expect((await locks.status("key")).holders.map(({ fence }) => fence)).toEqual([lock.fence]);
  expect(lock.signal.aborted).toBe(false);
});

test("a lease ends on time, and the next in line is granted", async () => {
  const { connect, locks } = start();
  const lock = await locks.acquire("key", { ttl: 100 });
  const startedAt = performance.now();
  const next = await connect().acquire("key");

  expect(performance.now() - startedAt).toBeGreaterThan(80);
  expect(next.fence).toBeGreaterThan(lock.fence);
  expect((await lock.lost).reason).toBe("expired");
});

test("close tells everybody who waits, and later uses", async () => {
  const latchkey = start();
  const lock = await latchkey.locks.acquire("key");
  const waiting = latchkey.connect().acquire("key");
  const [, told] = await Promise.allSettled([latchkey.close(), waiting]);

  expect(told).toMatchObject({ status: "rejected", reason: { name: "SessionClosedError" } });
  expect(lock.signal.aborted).toBe(true);
  await expect(latchkey.locks.acquire("other")).rejects.toMatchObject({ name: "SessionClosedError" });
  await expect(latchkey.connect().acquire("other")).rejects.toMatchObject({ name: "SessionClosedError" });
});

test("two in one process have nothing to do with each other", async () => {
  await start().locks.acquire("key");

  expect(await start().locks.tryAcquire("key")).not.toBeNull();
});

test("work within one process is done once for a key, and an attempt is over with its session", async () => {
  const { connect, locks } = start();
  let runs = 0;
  const results = await Promise.all(
    [connect(), connect(), locks].map((client) =>
      client.idempotent("pay", { fingerprint: "f", timeout: 5000 }, async () => {
        await Promise.resolve();
        return (runs += 1);
      }),
    ),
  );
  expect(results).toEqual([1, 1, 1]);

  const client = connect();
  const first = await client.idempotency.begin("other", { lease: 60_000 });
  const next = locks.idempotency.begin("other", { timeout: 5000 });
  await client.close();
  expect(await next).toMatchObject({ status: "started", number: 2 });
  expect(first.status === "started" && first.signal.aborted).toBe(true);
});
