import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { FLEET_DEFAULTS } from "../../src/fleet/script.ts";
import { Calm } from "../conformance/calm.ts";
import { Caller } from "../conformance/caller.ts";
import { openSession, openSocket, type TestSocket } from "../conformance/socket.ts";
import { startUpstash, type UpstashStandIn } from "../stand-ins/upstash.ts";
import { Redis } from "./support/redis.ts";
import { hasRedisServer } from "../fleet/support/redis-server.ts";
import { type Name, NAMES, Trio } from "./support/trio.ts";

const LEASE_MS = 2000;
const RETRY_MS = 400;
/** What a busy machine may need besides. */
const SLACK_MS = 600;
const env = { LOCK_RETRY_INTERVAL: `${RETRY_MS}ms` };

let keyLast = 0;
const freshKey = (): string => `key-${++keyLast}`;

/** Leases are short, since they are to end: whoever stands still for as long is given up like those who are killed. */
const calm = new Calm(4);

describe.skipIf(!hasRedisServer())("three servers", calm.options, () => {
  let redis: Redis;
  let trio: Trio;
  let lost: Name | undefined;

  beforeAll(async () => {
    redis = await Redis.start();
    trio = await Trio.start({ redis: redis.url, leaseMs: LEASE_MS, env });
  });
  beforeEach(async () => {
    if (lost !== undefined) await trio.start(lost);
    lost = undefined;
  });
  afterAll(async () => {
    await trio?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
  });

  const caller = (name: Name): Caller => new Caller(trio.get(name).url);
  calm.watch(() =>
    NAMES.map((name) => async () => {
      if (name !== lost) await caller(name).status("nothing");
    }),
  );
  const kill = async (name: Name): Promise<void> => {
    lost = name;
    await trio.get(name).kill();
  };

  test("a call that waits keeps its place on another server, when its own is killed", async () => {
    const key = freshKey();
    const { body: held } = await caller("node").acquire(key, { ttl: 60_000 });
    const asked = { timeout: 60_000, request_id: `once-${key}` };
    const first = fails(caller("bun").acquire(key, asked));
    await caller("node").waiting(key, 1);
    using behind = await openSession(trio.get("node").socketUrl);
    const queued = await behind.queue(key);
    await kill("bun");
    expect(await first).toBe(true);
    const again = caller("deno").acquire(key, asked);
    // Longer than the lease of the server that was killed.
    await passed(LEASE_MS + SLACK_MS);
    expect((await caller("node").status(key)).body.waiting).toBe(2);

    await caller("deno").release(key, { token: held.token });
    const { status, body } = await again;
    expect(status).toBe(200);
    await caller("node").release(key, { token: body.token });
    expect((await behind.granted(queued)).fence).toBeGreaterThan(body.fence);
  });

  test("a call that waited on a server that was killed, and that nobody makes again, leaves the queue", async () => {
    const key = freshKey();
    const { body: held } = await caller("node").acquire(key, { ttl: 60_000 });
    const gone = fails(caller("deno").acquire(key, { timeout: 60_000 }));
    await caller("node").waiting(key, 1);
    using behind = await openSession(trio.get("node").socketUrl);
    const queued = await behind.queue(key);
    await kill("deno");
    const killedAt = performance.now();
    expect(await gone).toBe(true);
    await caller("node").waiting(key, 1);
    expect(performance.now() - killedAt).toBeLessThan(LEASE_MS + FLEET_DEFAULTS.returnMs + SLACK_MS);
    await caller("node").release(key, { token: held.token });
    await behind.granted(queued);
  });

  test("what a caller was granted after its server was killed is free again when nobody comes for it, long before its ttl", async () => {
    const key = freshKey();
    const { body: held } = await caller("node").acquire(key, { ttl: 60_000 });
    const gone = fails(caller("bun").acquire(key, { ttl: 60_000, timeout: 60_000 }));
    await caller("node").waiting(key, 1);
    using behind = await openSession(trio.get("node").socketUrl);
    const queued = await behind.queue(key);
    await kill("bun");
    const killedAt = performance.now();
    expect(await gone).toBe(true);
    await caller("node").release(key, { token: held.token });
    expect((await caller("deno").status(key)).body.holders).toMatchObject([{ expires_in: expect.any(Number) }]);
    await behind.granted(queued);
    expect(performance.now() - killedAt).toBeLessThan(LEASE_MS + FLEET_DEFAULTS.returnMs + SLACK_MS);
  });

  test("what a caller was granted and has heard of stays its own to the end of its ttl, whatever becomes of its server", async () => {
    const key = freshKey();
    const { body: held } = await caller("node").acquire(key, { ttl: 60_000 });
    const asked = caller("deno").acquire(key, {
      ttl: LEASE_MS + FLEET_DEFAULTS.returnMs + 4 * SLACK_MS,
      timeout: 60_000,
    });
    await caller("node").waiting(key, 1);
    await caller("node").release(key, { token: held.token });
    const { status, body } = await asked;
    expect(status).toBe(200);
    await kill("deno");
    await passed(LEASE_MS + FLEET_DEFAULTS.returnMs + SLACK_MS);
    expect((await caller("node").status(key)).body.holders).toMatchObject([{ fence: body.fence }]);
  });

  test.each([
    ["at once", 0],
    ["when the others have given that server up", LEASE_MS + SLACK_MS],
  ])("a session with a grace goes on on another server when its own is killed: %s", async (_, afterMs) => {
    const [key, wanted] = [freshKey(), freshKey()];
    const hello = { grace: 30_000 };
    using owner = await openSession(trio.get("node").socketUrl);
    const owned = await owner.acquire(wanted);
    using before = await openSocket(trio.get("bun").socketUrl);
    const { session, secret } = await before.hello(hello);
    const held = await before.acquire(key, { id: "holds" });
    await before.queue(wanted, { id: "waits" });
    using behind = await openSession(trio.get("node").socketUrl);
    const queued = await behind.queue(key);
    await kill("bun");
    await before.closed;
    await passed(afterMs);

    using after = await openSocket(trio.get("deno").socketUrl);
    const { claims } = await after.hello({ ...hello, resume: { session, secret } });
    expect(new Map(claims?.map((claim) => [claim.id, claim]))).toMatchObject(
      new Map([
        ["holds", { state: "holding", token: held.token, fence: held.fence }],
        ["waits", { state: "waiting", position: 1 }],
      ]),
    );
    await passed(LEASE_MS + SLACK_MS - afterMs);
    await owner.release(owned);
    await after.next("granted", "waits");
    await after.release(held);
    await behind.granted(queued);
  });

  test("a session with a grace that takes its leave of a living server is closed there, and goes on elsewhere", async () => {
    const key = freshKey();
    const hello = { grace: 30_000 };
    using before = await openSocket(trio.get("node").socketUrl);
    const { session, secret } = await before.hello(hello);
    const held = await before.acquire(key);
    using after = await openSocket(trio.get("bun").socketUrl);
    const { claims } = await after.hello({ ...hello, resume: { session, secret } });
    expect(claims).toMatchObject([{ key, token: held.token }]);
    expect((await before.closed).code).toBe(4409);
    expect((await caller("node").status(key)).body.holders).toMatchObject([{ fence: held.fence }]);
    await after.release(held);
  });
});

describe.skipIf(!hasRedisServer())("three servers that are told nothing any more", calm.options, () => {
  let redis: Redis;
  let upstash: UpstashStandIn;
  let trio: Trio;

  beforeAll(async () => {
    redis = await Redis.start();
    upstash = await startUpstash({ redisUrl: redis.url });
    trio = await Trio.start({ redis: { url: upstash.url, token: upstash.token }, leaseMs: LEASE_MS, env });
  });
  afterAll(async () => {
    await trio?.[Symbol.asyncDispose]();
    await upstash?.close();
    await redis?.[Symbol.asyncDispose]();
  });

  calm.watch(() => NAMES.map((name) => () => new Caller(trio.get(name).url).status("nothing")));

  test("find out by asking: nothing that was published to nobody is lost, and later they are told again", async () => {
    const sockets = await Promise.all(
      NAMES.map(async (name): Promise<TestSocket> => {
        const socket = await openSession(trio.get(name).socketUrl);
        onTestFinished(() => socket.terminate());
        return socket;
      }),
    );
    const key = freshKey();
    let held = await sockets[0]!.acquire(key);
    const handOnMs = async (from: number): Promise<number> => {
      const to = (from + 1) % sockets.length;
      const queued = await sockets[to]!.queue(key);
      const startedAt = performance.now();
      await sockets[from]!.release(held);
      held = await sockets[to]!.granted(queued);
      return performance.now() - startedAt;
    };
    const untilTold = async (): Promise<void> => {
      const patientUntil = performance.now() + 10_000;
      let quick = 0;
      for (let from = 0; quick < sockets.length || from !== 0; from = (from + 1) % sockets.length) {
        if (performance.now() > patientUntil) expect.fail("they are not told");
        quick = (await handOnMs(from)) < RETRY_MS / 4 ? quick + 1 : 0;
      }
    };
    await untilTold();
    for (let from = 0; from < sockets.length; from++) {
      // Ends without a word: the servers go on as if they listened.
      upstash.cutStreams();
      expect(await handOnMs(from)).toBeLessThan(RETRY_MS + SLACK_MS);
    }
    await untilTold();
  });
});

function fails(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => false,
    () => true,
  );
}

/** Time that must pass by itself: nothing happens that could be waited for. */
function passed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
