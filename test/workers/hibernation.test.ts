/** Real sockets to an object that sleeps for real: what a client's end looks like from there. */

import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import { Caller } from "../conformance/caller.ts";
import { usuallyWithin } from "../conformance/figures.ts";
import { type Puppet, startPuppet } from "../conformance/puppets.ts";
import { workers } from "../conformance/runtimes.ts";
import { startServer } from "../conformance/server.ts";
import { openSession } from "../conformance/socket.ts";

const KILL_MAX_MS = 100;
/** Workerd puts an object to sleep 10 s after its last event, and looks now and then. */
const ASLEEP_AFTER_MS = 15_000;
const root = fileURLToPath(new URL("../..", import.meta.url));
const harness = createTestHarness({ root, workers: [{ configPath: "wrangler.jsonc" }] });

let url = "";
let socketUrl = "";
let spaceCount = 0;

beforeAll(async () => {
  const listening = await harness.listen();
  url = listening.url.origin;
}, 60_000);

afterAll(() => harness.close());

function newSpace(): string {
  const space = `space-${++spaceCount}`;
  socketUrl = `${url.replace("http", "ws")}/v1/session?space=${space}`;
  return space;
}

function sleep(space: string): Promise<void> {
  return harness.getWorker().evictDurableObject("LOCKS", { name: space, webSockets: "hibernate" });
}

test("kill -9 of a client whose object sleeps: the next has its lock within 100 ms", async () => {
  const what = "kill -9 of a holder whose object sleeps until the next has its lock";
  await usuallyWithin(workers, what, KILL_MAX_MS, async () => {
    const space = newSpace();
    await using puppet: Puppet = await startPuppet(socketUrl);
    using next = await openSession(socketUrl);
    const held = await puppet.socket.acquire("a");
    const waiting = await next.queue("a");
    await sleep(space);
    const startedAt = performance.now();
    puppet.process.signal("SIGKILL");
    const granted = await next.granted(waiting);
    const tookMs = performance.now() - startedAt;
    expect(granted.fence).toBeGreaterThan(held.fence);
    return tookMs;
  });
});

test("a session goes on over many sleeps, with what it holds and waits for", async () => {
  const space = newSpace();
  using one = await openSession(socketUrl);
  using two = await openSession(socketUrl);
  let held = await one.acquire("a");
  for (let round = 0; round < 10; round++) {
    const [holder, waiter] = round % 2 === 0 ? [one, two] : [two, one];
    const waiting = await waiter.queue("a");
    await sleep(space);
    await holder.release(held);
    const granted = await waiter.granted(waiting);
    expect(granted.fence).toBeGreaterThan(held.fence);
    held = granted;
    await sleep(space);
  }
  expect((await new Caller(url, { space }).status("a")).body).toMatchObject({ waiting: 0 });
});

/** Against workerd itself: the harness has a proxy before it, which takes every answer whether or not its own client is there. */
test("a caller that died while it waited holds for moments, and not for its ttl", async () => {
  await using server = await startServer(workers);
  using session = await openSession(`${server.socketUrl}?space=default`);
  let round = 0;
  await usuallyWithin(workers, "the turn of a caller that died while it waited", KILL_MAX_MS, async () => {
    const key = `k${++round}`;
    const held = await session.acquire(key);
    const hangUp = new AbortController();
    const caller = new Caller(server.url);
    const waiting = caller.acquire(key, { ttl: 600_000 }, { signal: hangUp.signal });
    await caller.waiting(key, 1);
    const behind = await session.queue(key);
    hangUp.abort();
    await expect(waiting).rejects.toThrow("aborted");
    const startedAt = performance.now();
    await session.release(held);
    await session.granted(behind);
    return performance.now() - startedAt;
  });
});

test("an object goes to sleep by itself, also under a session that the Worker passes on", async () => {
  const env = { LATCHKEY_HEARTBEAT: "10m", LATCHKEY_DEADLINE: "1h" };
  await using server = await startServer(workers, { env });
  const caller = new Caller(server.url);
  using direct = await openSession(`${server.socketUrl}?space=default`);
  using bridged = await openSession(server.socketUrl);
  const held = await direct.acquire("a");
  const waiting = await bridged.queue("a");
  // What it has counted it keeps in memory: the only thing that it has after a sleep no more.
  const grants = async (): Promise<boolean> => {
    const { body } = await caller.request("GET", "/metrics");
    return body.includes('latchkey_acquires_total{result="granted"}');
  };
  expect(await grants()).toBe(true);
  // Twice, for the case that a ping fell into the first time.
  for (let times = 0; times < 2; times++) {
    await new Promise((resolve) => setTimeout(resolve, ASLEEP_AFTER_MS));
    if (!(await grants())) break;
  }
  expect(await grants()).toBe(false);
  await direct.release(held);
  await bridged.granted(waiting);
});

test("a caller that waited and lives keeps its lock", async () => {
  await using server = await startServer(workers);
  const caller = new Caller(server.url);
  const { body: first } = await caller.acquire("a");
  const waiting = caller.acquire("a", { ttl: 60_000 });
  await caller.waiting("a", 1);
  await caller.release("a", { token: first.token });
  const { body: second } = await waiting;
  // Longer than a grant without a confirmation would last.
  await new Promise((resolve) => setTimeout(resolve, 5500));
  expect((await caller.status("a")).body).toMatchObject({ holders: [{ fence: second.fence }] });
});
