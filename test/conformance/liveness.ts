import { afterAll, beforeAll, expect, test } from "vitest";
import { figure } from "./figures.ts";
import { type Puppet, startPuppet } from "./puppets.ts";
import { type Server, startServer } from "./server.ts";
import { openSession, openSocket, type TestSocket } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

const PING_MS = 200;
const DEADLINE_MS = 600;
/** A process that is killed has its locks passed on within this. */
const KILL_MAX_MS = 100;
const ROUNDS = 5;

export function liveness({ runtime }: Subject): void {
  let server: Server;

  beforeAll(async () => {
    const env = { LATCHKEY_HEARTBEAT: `${PING_MS}ms`, LATCHKEY_DEADLINE: `${DEADLINE_MS}ms` };
    server = await startServer(runtime, { env });
  });

  afterAll(() => server[Symbol.asyncDispose]());

  test("a pong is answered by ack, and a session that answers pings lives on", async () => {
    const key = freshKey();
    using socket = await openSocket(server.socketUrl);
    expect(await socket.hello()).toMatchObject({ ping: PING_MS, deadline: DEADLINE_MS });
    const held = await socket.acquire(key);
    const startedAt = performance.now();
    while (performance.now() - startedAt < DEADLINE_MS + 2 * PING_MS) {
      await socket.nextBare("ping");
      await socket.nextBare("ack");
    }
    expect(await socket.status(key)).toMatchObject({ holders: [{ fence: held.fence }] });
  });

  test("any inbound frame counts as life", async () => {
    using session = await openSession(server.socketUrl, {}, { silent: true });
    for (let pings = 0; pings < 5; pings++) {
      await session.nextBare("ping");
      await session.status("k");
    }
  });

  test("outbound frames do not: a silent session is ended at its deadline, whatever it is sent", async () => {
    const key = freshKey();
    using silent = await openSession(server.socketUrl, {}, { silent: true });
    using other = await openSession(server.socketUrl);
    // Leases that end one after the other: until its deadline is over, the silent session is sent a grant every 50 ms.
    for (let ttl = 100; ttl <= DEADLINE_MS + PING_MS; ttl += 50) {
      const steady = freshKey();
      await other.acquire(steady, { ttl });
      await silent.queue(steady);
    }
    await silent.acquire(key);
    const startedAt = performance.now();
    const waiting = await other.queue(key);
    await other.granted(waiting);
    expectAtDeadline(performance.now() - startedAt);
    expect((await silent.closed).code).toBe(4410);
  });

  test("a silent session with a grace is closed 4408 and suspended, and may be resumed", async () => {
    const key = freshKey();
    using silent = await openSocket(server.socketUrl, { silent: true });
    const { session, secret } = await silent.hello({ grace: 10_000 });
    const held = await silent.acquire(key);
    expect((await silent.closed).code).toBe(4408);
    using again = await openSocket(server.socketUrl);
    const welcome = await again.hello({ grace: 10_000, resume: { session, secret } });
    expect(welcome).toMatchObject({ resumed: true, claims: [{ key, state: "holding", token: held.token }] });
    again.send({ t: "bye" });
    await again.closed;
  });

  test("a frozen process loses its locks at the deadline, and one ping later at the latest", async () => {
    const [key, waited] = [freshKey(), freshKey()];
    await using puppet = await startPuppet(server.socketUrl);
    using other = await openSession(server.socketUrl);
    await puppet.socket.acquire(key);
    const held = await other.acquire(waited);
    await puppet.socket.queue(waited);
    const behind = await other.queue(waited);
    const waiting = await other.queue(key);

    puppet.process.signal("SIGSTOP");
    const startedAt = performance.now();
    await other.granted(waiting);
    const tookMs = performance.now() - startedAt;
    figure(runtime, `frozen process (ping ${PING_MS}, deadline ${DEADLINE_MS}) until the next has its lock`, [tookMs]);
    // Its last pong may have been one ping before it froze.
    expect(tookMs).toBeGreaterThan(DEADLINE_MS - PING_MS - 50);
    expect(tookMs).toBeLessThan(DEADLINE_MS + PING_MS);
    await other.release(held);
    await other.granted(behind);

    puppet.process.signal("SIGCONT");
    expect((await puppet.socket.closed).code).toBe(4410);
  });

  test("the lock of a killed process is with the next in line within 100 ms, and goes on in order", async () => {
    const timesMs: number[] = [];
    await rounds(async (puppet, [first, second, third]) => {
      const key = freshKey();
      await puppet.socket.acquire(key);
      const waiting = [await first.queue(key), await second.queue(key), await third.queue(key)] as const;
      const startedAt = performance.now();
      puppet.process.signal("SIGKILL");
      const held = await first.granted(waiting[0]);
      timesMs.push(performance.now() - startedAt);
      expect(await third.status(key)).toMatchObject({ holders: [{ fence: held.fence }], waiting: 2 });
      await first.release(held);
      const next = await second.granted(waiting[1]);
      await second.release(next);
      const last = await third.granted(waiting[2]);
      expect([held.fence, next.fence, last.fence].toSorted((a, b) => a - b)).toEqual([
        held.fence,
        next.fence,
        last.fence,
      ]);
    });
    expect(figure(runtime, "kill -9 of the holder until the next has its lock", timesMs)).toBeLessThan(KILL_MAX_MS);
  });

  test("the place of a process that is killed while it waits is gone within 100 ms, and is never granted", async () => {
    const timesMs: number[] = [];
    await rounds(async (puppet, [holder, second, third]) => {
      const key = freshKey();
      const held = await holder.acquire(key);
      await puppet.socket.queue(key);
      const waiting = [await second.queue(key), await third.queue(key)] as const;
      const startedAt = performance.now();
      puppet.process.signal("SIGKILL");
      while ((await holder.status(key)).waiting === 3);
      timesMs.push(performance.now() - startedAt);
      await holder.release(held);
      const next = await second.granted(waiting[0]);
      expect(await third.status(key)).toMatchObject({ holders: [{ fence: next.fence }], waiting: 1 });
      await second.release(next);
      await third.granted(waiting[1]);
    });
    expect(figure(runtime, "kill -9 of a waiting process until its place is gone", timesMs)).toBeLessThan(KILL_MAX_MS);
  });

  async function rounds(
    round: (puppet: Puppet, others: readonly [TestSocket, TestSocket, TestSocket]) => Promise<void>,
  ) {
    using first = await openSession(server.socketUrl);
    using second = await openSession(server.socketUrl);
    using third = await openSession(server.socketUrl);
    for (let count = 0; count < ROUNDS; count++) {
      await using puppet = await startPuppet(server.socketUrl);
      await round(puppet, [first, second, third]);
    }
  }
}

/** Not before the deadline, and at most one ping after it. Counted here, so that frames under way cost a little. */
function expectAtDeadline(tookMs: number): void {
  expect(tookMs).toBeGreaterThan(DEADLINE_MS - 50);
  expect(tookMs).toBeLessThan(DEADLINE_MS + PING_MS);
}
