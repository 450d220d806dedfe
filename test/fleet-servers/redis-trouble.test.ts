import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Client, connect } from "../../src/client/index.ts";
import { Calm, goesOn } from "../conformance/calm.ts";
import { Caller } from "../conformance/caller.ts";
import { bun, deno, node } from "../conformance/runtimes.ts";
import { failToStart } from "../conformance/server.ts";
import { openSocket } from "../conformance/socket.ts";
import { DURABLE, freePort, Redis } from "./support/redis.ts";
import type { FleetChoices } from "../../src/options.ts";
import { hasRedisServer } from "../fleet/support/redis-server.ts";
import { startUpstash } from "../stand-ins/upstash.ts";
import { inFleet } from "./support/runtime.ts";
import { type Name, NAMES, Trio } from "./support/trio.ts";

/** Longer than callers are kept waiting for Redis, so that sessions are seen to outlive that. */
const LEASE_MS = 8000;
const PASSWORD = "hunter2-hunter2";

let keyLast = 0;
const freshKey = (): string => `key-${++keyLast}`;

/** Redis is away for some of a session's deadline already. */
const calm = new Calm(4);

describe.skipIf(!hasRedisServer())("three servers", calm.options, () => {
  let redis: Redis;
  let trio: Trio;

  beforeAll(async () => {
    // Where it would save a copy there is a folder: it notices when it is told to make one.
    redis = await Redis.start({ args: [...DURABLE, "--dbfilename", "appendonlydir"] });
    trio = await Trio.start({ redis: redis.url, leaseMs: LEASE_MS });
  });
  afterAll(async () => {
    await trio?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
  });

  calm.watch(() => [() => redis.ask("PING"), ...NAMES.map((name) => goesOn(trio.get(name)))]);

  const caller = (name: Name): Caller => new Caller(trio.get(name).url);
  const next = (name: Name): Name => NAMES[(NAMES.indexOf(name) + 1) % NAMES.length]!;

  function client(name: Name): Client {
    const made = connect(trio.get(name).url, { onError: () => undefined, reconnect: { baseMs: 50, capMs: 200 } });
    onTestFinished(() => made.close());
    return made;
  }

  /** On each server a session that holds a key, with one on the next server that waits for it. */
  async function chain() {
    return Promise.all(
      NAMES.map(async (name) => {
        const key = freshKey();
        const lock = await client(name).acquire(key);
        const waiting = client(next(name)).acquire(key);
        // A test that fails closes whoever waits.
        waiting.catch(() => undefined);
        await caller(name).waiting(key, 1);
        return { name, key, lock, waiting };
      }),
    );
  }

  /** Everybody has what they had, and hands it on. */
  async function handOn(links: Awaited<ReturnType<typeof chain>>): Promise<void> {
    for (const { lock, waiting } of links) {
      expect(lock.signal.aborted).toBe(false);
      await lock.release();
      const taken = await waiting;
      expect(taken.fence).toBeGreaterThan(lock.fence);
      await taken.release();
    }
  }

  /** Whoever calls is told to come again. */
  async function isAway(): Promise<void> {
    const answers = await Promise.all(NAMES.map((name) => caller(name).acquire(freshKey())));
    for (const { status, headers, body } of answers) {
      expect({ status, ...body }).toMatchObject({ status: 503, code: "unavailable", retryable: true });
      expect(headers.get("retry-after")).toMatch(/^\d+$/);
    }
  }

  async function isBack(links: Awaited<ReturnType<typeof chain>>): Promise<void> {
    for (const name of NAMES) expect((await caller(name).acquire(freshKey())).status).toBe(200);
    await handOn(links);
  }

  test("Redis is killed and started again: what was held is held, fences rise, and the servers come back by themselves", async () => {
    const links = await chain();
    const [key, graceful] = [freshKey(), freshKey()];
    const held = (await caller("bun").acquire(key, { ttl: 60_000 })).body;
    const socket = await openSocket(trio.get("node").socketUrl);
    const { session, secret } = await socket.hello({ grace: 30_000 });
    const kept = await socket.acquire(graceful);
    await socket.break();
    const fenceMax = Math.max(held.fence, kept.fence, ...links.map(({ lock }) => lock.fence));

    await redis.kill();
    const [free, later] = [freshKey(), caller("deno")];
    const asked = later.acquire(free, { timeout: 60_000 });
    await redis.start();

    expect((await asked).body.fence).toBeGreaterThan(fenceMax);
    for (const name of NAMES) {
      expect((await caller(name).status(key)).body.holders).toMatchObject([{ fence: held.fence }]);
    }
    expect((await caller("node").acquire(key, { timeout: 0 })).status).toBe(408);
    using resumed = await openSocket(trio.get("bun").socketUrl);
    const welcome = await resumed.hello({ grace: 30_000, resume: { session, secret } });
    expect(welcome.claims).toMatchObject([{ key: graceful, state: "holding", token: kept.token, fence: kept.fence }]);
    expect((await caller("deno").release(key, { token: held.token })).body).toEqual({ status: "released" });
    await handOn(links);
  });

  test("Redis has lost everything: a new epoch, everybody is told so, and fences still rise", async () => {
    const key = freshKey();
    const { epoch } = await welcomeAt("bun");
    const links = await chain();
    const held = (await caller("bun").acquire(key, { ttl: 60_000 })).body;
    const fenceMax = Math.max(held.fence, ...links.map(({ lock }) => lock.fence));
    using graceful = await openSocket(trio.get("node").socketUrl);
    const { session, secret } = await graceful.hello({ grace: 30_000 });

    await redis.lose();

    for (const { lock, waiting } of links) {
      expect(await lock.lost).toMatchObject({ reason: "dropped" });
      // Who waited waits anew, and finds the key free.
      const taken = await waiting;
      expect(taken.fence).toBeGreaterThan(fenceMax);
      await taken.release();
    }
    await graceful.closed;
    using again = await openSocket(trio.get("bun").socketUrl);
    again.send({ t: "hello", v: 1, resume: { session, secret } });
    expect((await again.closed).code).toBe(4410);
    for (const name of NAMES) {
      expect((await welcomeAt(name)).epoch).toBeGreaterThan(epoch);
      expect(await caller(name).extend(key, { token: held.token, ttl: 1000 })).toMatchObject({ status: 404 });
    }
    expect((await caller("deno").acquire(key)).body.fence).toBeGreaterThan(fenceMax);
  });

  test.each([
    ["is full", ["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]],
    ["has become a replica", ["REPLICAOF", "127.0.0.1", "1"], ["REPLICAOF", "NO", "ONE"]],
    ["is busy with a script of somebody else", ["EVAL", "while true do end", "0"], ["SCRIPT", "KILL"]],
  ] as const)(
    "Redis %s: callers are told to come again, and sessions have theirs when it is over",
    async (_, begin, end) => {
      await redis.ask("CONFIG", "SET", "busy-reply-threshold", "50");
      const links = await chain();
      const begun = redis.ask(...begin).catch(() => undefined);
      if (begin[0] === "EVAL") await vi.waitFor(() => expect(redis.ask("PING")).rejects.toThrow("BUSY"));
      else await begun;
      await isAway();
      await redis.ask(...end);
      await begun;
      await isBack(links);
    },
  );

  test("Redis cannot write to its disk: likewise", async () => {
    const links = await chain();
    await redis.ask("CONFIG", "SET", "save", "3600 1");
    await redis.ask("BGSAVE");
    await vi.waitFor(async () => expect(await redis.ask("INFO")).toContain("rdb_last_bgsave_status:err"), 5000);
    await isAway();
    await redis.ask("CONFIG", "SET", "save", "");
    await isBack(links);
  });

  test("Redis takes no more connections, and those that there were are lost: likewise", async () => {
    const links = await chain();
    const admin = await createClient({ url: redis.url, RESP: 2 }).connect();
    onTestFinished(() => admin.destroy());
    await admin.sendCommand(["CONFIG", "SET", "maxclients", "1"]);
    onTestFinished(async () => void (await admin.sendCommand(["CONFIG", "SET", "maxclients", "10000"])));
    await admin.sendCommand(["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    await isAway();
    await admin.sendCommand(["CONFIG", "SET", "maxclients", "10000"]);
    await isBack(links);
  });

  test.each([
    ["resets all connections", ["CLIENT", "KILL", "TYPE", "normal"]],
    ["resets all that listen", ["CLIENT", "KILL", "TYPE", "pubsub"]],
    ["forgets its scripts", ["SCRIPT", "FLUSH"]],
  ] as const)("Redis %s: nobody notices", async (_, command) => {
    const links = await chain();
    await redis.ask(...command);
    const answers = await Promise.all(NAMES.map((name) => caller(name).acquire(freshKey())));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await handOn(links);
  });

  async function welcomeAt(name: Name) {
    using socket = await openSocket(trio.get(name).socketUrl);
    return await socket.hello();
  }
});

describe.skipIf(!hasRedisServer()).each([bun, deno, node])(
  "a server on $name does not start, and says why in one line",
  (runtime) => {
    const refusal = async (place: FleetChoices["redis"]): Promise<string> => {
      const { code, output } = await failToStart(inFleet(runtime, place), {});
      expect(code).not.toBe(0);
      expect(output.trimEnd().split("\n")).toHaveLength(1);
      expect(output).not.toContain(PASSWORD);
      return output;
    };

    test("with a Redis that may drop locks when it is full, or that is a replica", async () => {
      await using redis = await Redis.start({ args: ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"] });
      expect(await refusal(redis.url)).toContain("noeviction");
      await redis.ask("CONFIG", "SET", "maxmemory-policy", "noeviction");
      await redis.ask("REPLICAOF", "127.0.0.1", "1");
      expect(await refusal(redis.url)).toContain("replica");
    });

    test("with a Redis that is not there, or that it may not use", async () => {
      expect(await refusal(`redis://default:${PASSWORD}@127.0.0.1:${await freePort()}`)).toContain("cannot be reached");
      await using redis = await Redis.start({ args: ["--requirepass", "another"] });
      expect(await refusal(redis.url.replace("//", `//default:${PASSWORD}@`))).toContain("WRONGPASS");
      const url = redis.url.replace("redis:", "http:");
      expect(await refusal({ url, token: PASSWORD })).toContain("cannot be reached");
      await using free = await Redis.start({ args: [] });
      await using upstash = await startUpstash({ redisUrl: free.url });
      expect(await refusal({ url: upstash.url, token: PASSWORD })).toContain("Unauthorized");
    });
  },
);
