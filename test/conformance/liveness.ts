import { afterAll, beforeAll, expect, test } from "vitest";
import { Calm, goesOn } from "./calm.ts";
import { figure, usuallyWithin } from "./figures.ts";
import { type Puppet, startPuppet } from "./puppets.ts";
import { type Server, startServer } from "./server.ts";
import { openSession, openSocket, type TestSocket } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

/** Short, for those that are silent. */
const PING_MS = 200;
const DEADLINE_MS = 600;
/** Two processes do not read the same clock. */
const CLOCKS_MS = 10;
/** A process that is killed has its locks passed on within this. */
const KILL_MAX_MS = 100;
/** On a busy machine there are more rounds. */
const IN_ROUNDS = { timeout: 60_000 };

export function liveness({ runtime }: Subject): void {
  let server: Server;
  /** For whoever is killed: no deadline is near, so that nothing but the end of a connection can end its session. */
  let patient: Server;

  beforeAll(async () => {
    const env = { LATCHKEY_HEARTBEAT: `${PING_MS}ms`, LATCHKEY_DEADLINE: `${DEADLINE_MS}ms` };
    server = await startServer(runtime, { env });
    patient = await startServer(runtime);
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await patient?.[Symbol.asyncDispose]();
  });

  const calm = new Calm();
  calm.watch(() => [goesOn(server)]);

  test("a pong is answered by ack, and a session that answers pings lives on", calm.options, async () => {
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

  test("any inbound frame counts as life", calm.options, async () => {
    using session = await openSession(server.socketUrl, {}, { silent: true });
    for (let pings = 0; pings < 5; pings++) {
      await session.nextBare("ping");
      await session.status("k");
    }
  });

  test(
    "outbound frames do not: a silent session is ended at its deadline, whatever it is sent",
    calm.options,
    async () => {
      const key = freshKey();
      using silent = await openSession(server.socketUrl, {}, { silent: true });
      using other = await openSession(server.socketUrl);
      // Leases that end one after the other: until its deadline is over, the silent session is sent a grant every 50 ms.
      for (let ttl = 100; ttl <= DEADLINE_MS + PING_MS; ttl += 50) {
        const steady = freshKey();
        await other.acquire(steady, { ttl });
        await silent.queue(steady);
      }
      const spokeAt = performance.now();
      await silent.acquire(key);
      const heardAt = performance.now();
      await other.granted(await other.queue(key));
      const grantedAt = performance.now();
      // The server has heard of it between the two, so that its deadline was neither earlier nor, but for a ping, later.
      expect(grantedAt - spokeAt).toBeGreaterThan(DEADLINE_MS - CLOCKS_MS);
      expect(grantedAt - heardAt).toBeLessThan(DEADLINE_MS + PING_MS);
      expect((await silent.closed).code).toBe(4410);
    },
  );

  test("a silent session with a grace is closed 4408 and suspended, and may be resumed", calm.options, async () => {
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

  test("a frozen process loses its locks at the deadline, and one ping later at the latest", calm.options, async () => {
    const [key, waited] = [freshKey(), freshKey()];
    await using puppet = await startPuppet(server.socketUrl);
    const unwatch = calm.also(() => puppet.socket.status(key));
    using other = await openSession(server.socketUrl);
    await puppet.socket.acquire(key);
    const held = await other.acquire(waited);
    await puppet.socket.queue(waited);
    const behind = await other.queue(waited);
    const waiting = await other.queue(key);

    unwatch();
    const spokeAt = performance.now();
    await puppet.socket.status(key);
    const frozenAt = performance.now();
    puppet.process.signal("SIGSTOP");
    await other.granted(waiting);
    const grantedAt = performance.now();
    const what = `frozen process (ping ${PING_MS}, deadline ${DEADLINE_MS}) until the next has its lock`;
    figure(runtime, what, [grantedAt - frozenAt]);
    // The server has heard of it after that, so that its deadline cannot have been earlier.
    expect(grantedAt - spokeAt).toBeGreaterThan(DEADLINE_MS - CLOCKS_MS);
    expect(grantedAt - frozenAt).toBeLessThan(DEADLINE_MS + PING_MS);
    await other.release(held);
    await other.granted(behind);

    puppet.process.signal("SIGCONT");
    expect((await puppet.socket.closed).code).toBe(4410);
  });

  test(
    "the lock of a killed process is with the next in line within 100 ms, and goes on in order",
    IN_ROUNDS,
    async () => {
      await usuallyWithin(runtime, "kill -9 of the holder until the next has its lock", KILL_MAX_MS, () =>
        round(async (puppet, [first, second, third]) => {
          const key = freshKey();
          await puppet.socket.acquire(key);
          const waiting = [await first.queue(key), await second.queue(key), await third.queue(key)] as const;
          const startedAt = performance.now();
          puppet.process.signal("SIGKILL");
          const held = await first.granted(waiting[0]);
          const tookMs = performance.now() - startedAt;
          expect(await third.status(key)).toMatchObject({ holders: [{ fence: held.fence }], waiting: 2 });
          await first.release(held);
          const next = await second.granted(waiting[1]);
          await second.release(next);
          const last = await third.granted(waiting[2]);
          const fences = [held.fence, next.fence, last.fence];
          expect(fences.toSorted((a, b) => a - b)).toEqual(fences);
          return tookMs;
        }),
      );
    },
  );

  test(
    "the place of a process that is killed while it waits is gone within 100 ms, and is never granted",
    IN_ROUNDS,
    async () => {
      await usuallyWithin(runtime, "kill -9 of a waiting process until its place is gone", KILL_MAX_MS, () =>
        round(async (puppet, [holder, second, third]) => {
          const key = freshKey();
          const held = await holder.acquire(key);
          await puppet.socket.queue(key);
          const waiting = [await second.queue(key), await third.queue(key)] as const;
          const startedAt = performance.now();
          puppet.process.signal("SIGKILL");
          while ((await holder.status(key)).waiting === 3);
          const tookMs = performance.now() - startedAt;
          await holder.release(held);
          const next = await second.granted(waiting[0]);
          expect(await third.status(key)).toMatchObject({ holders: [{ fence: next.fence }], waiting: 1 });
          await second.release(next);
          await third.granted(waiting[1]);
          return tookMs;
        }),
      );
    },
  );

  async function round(
    play: (puppet: Puppet, others: readonly [TestSocket, TestSocket, TestSocket]) => Promise<number>,
  ): Promise<number> {
    using first = await openSession(patient.socketUrl);
    using second = await openSession(patient.socketUrl);
    using third = await openSession(patient.socketUrl);
    await using puppet = await startPuppet(patient.socketUrl);
    return await play(puppet, [first, second, third]);
  }
}
