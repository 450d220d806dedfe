import { createClient } from "redis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { serve } from "../../runtimes/node.ts";
import { httpClient } from "../../src/client/http.ts";
import {
  AttemptLostError,
  connect,
  IdempotencyInProgressError,
  type IdempotentClient,
} from "../../src/client/idempotency.ts";
import { UnavailableError } from "../../src/client/index.ts";
import { fleet } from "../../src/embedded-fleet.ts";
import type { RunningServer } from "../../src/options.ts";
import { Calm, later } from "../conformance/calm.ts";
import { type Place, PLACES, startPlace } from "./support/places.ts";
import { hasRedisServer } from "./support/redis-server.ts";

/** Short, for those servers whose lease is to end. The others have the usual one, which no stall of a busy machine is as long as. */
const LEASE_MS = 3000;
const PATIENT = { timeout: 15_000, interval: 20 };

describe.skipIf(!hasRedisServer()).each(PLACES)("two servers and one Redis %s", (kind) => {
  let place: Place;
  let servers: RunningServer[];
  let admin: ReturnType<typeof createClient>;
  const redis = (...args: readonly string[]): Promise<unknown> => admin.sendCommand([...args]);
  let keyLast = 0;
  const freshKey = (): string => `k${++keyLast}`;

  const start = (leaseMs?: number): Promise<RunningServer> =>
    serve({ port: 0, fleet: { redis: place.redis, leaseMs }, onError: () => undefined });

  beforeAll(async () => {
    place = await startPlace(kind, "--appendonly", "yes");
    admin = createClient({ url: place.server.url });
    await admin.connect();
    servers = [await start(), await start()];
  });
  afterAll(async () => {
    await Promise.all((servers ?? []).map((server) => server.close()));
    admin?.destroy();
    await place?.[Symbol.asyncDispose]();
  });

  function sessionOn({ url }: RunningServer): IdempotentClient {
    const client = connect(url.replace("http", "ws"), { onError: () => undefined });
    onTestFinished(() => client.close());
    return client;
  }
  const session = (server: number): IdempotentClient => sessionOn(servers[server]!);

  const postTo = ({ url }: RunningServer, path: string, body: object): Promise<Response> =>
    fetch(`${url}/v1/${path}`, { method: "POST", body: JSON.stringify(body) });
  const post = (server: number, path: string, body: object): Promise<Response> => postTo(servers[server]!, path, body);

  const waiting = (key: string, server = 0): Promise<number> =>
    httpClient(servers[server]!.url)
      .status(key)
      .then((told) => told.waiting);

  test("what one grants the other knows, and what one lets go the other is told of", async () => {
    const key = freshKey();
    const [first, second] = [session(0), session(1)];
    const held = await first.acquire(key);
    expect(await second.tryAcquire(key)).toBe(null);
    const next = second.acquire(key);
    await vi.waitFor(async () => expect(await waiting(key)).toBe(1), PATIENT);
    await held.release();

    expect((await next).fence).toBeGreaterThan(held.fence);
  });

  test("whose connection is lost lets the next one in, on whichever server that waits", async () => {
    const key = freshKey();
    const first = session(0);
    await first.acquire(key);
    const next = session(1).acquire(key);
    await vi.waitFor(async () => expect(await waiting(key)).toBe(1), PATIENT);
    await first.close();

    await next;
  });

  test("a push that is lost is made up for", async () => {
    const key = freshKey();
    const [first, second] = [session(0), session(1)];
    const held = await first.acquire(key);
    const next = second.acquire(key);
    await vi.waitFor(async () => expect(await waiting(key)).toBe(1), PATIENT);
    await place.cutListeners(redis);
    await held.release();
    await next;

    // And the next one is heard again.
    const third = first.acquire(key);
    await (await next).release();
    await third;
  });

  test("a session that resumes on another server has what it had, and its old connection is closed", async () => {
    const key = freshKey();
    const open = async (server: number, hello: object): Promise<{ socket: WebSocket; welcome: Welcome }> => {
      const socket = new WebSocket(`${servers[server]!.url.replace("http", "ws")}/v1/session`, "latchkey.v1");
      onTestFinished(() => socket.close());
      await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
      socket.send(JSON.stringify({ t: "hello", v: 1, ...hello }));
      return { socket, welcome: await frame<Welcome>(socket, "welcome") };
    };
    const { socket, welcome } = await open(0, { grace: 20_000 });
    socket.send(JSON.stringify({ t: "acquire", id: "a", key }));
    await frame(socket, "granted");
    const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener("close", resolve, { once: true }));
    const { session: id, secret } = welcome;
    const again = await open(1, { resume: { session: id, secret } });

    expect(again.welcome).toMatchObject({ session: id, resumed: true, claims: [{ id: "a", key, state: "holding" }] });
    expect((await closed).code).toBe(4409);
    // The end of the old connection ends nothing.
    expect(await session(0).tryAcquire(key)).toBe(null);
  });

  test("a call that waits keeps its place when it is made again on another server", async () => {
    const key = freshKey();
    const held = await session(0).acquire(key);
    const asked = { ttl: 5000, timeout: 20_000, request_id: `move-${key}` };
    const abort = new AbortController();
    const first = fetch(`${servers[0]!.url}/v1/latch/${key}/acquire`, {
      method: "POST",
      body: JSON.stringify(asked),
      signal: abort.signal,
    }).catch(() => undefined);
    await vi.waitFor(async () => expect(await waiting(key)).toBe(1), PATIENT);
    const behind = session(1).acquire(key);
    await vi.waitFor(async () => expect(await waiting(key)).toBe(2), PATIENT);
    const second = post(1, `latch/${key}/acquire`, asked);
    const gauges = async (): Promise<string> => (await fetch(`${servers[1]!.url}/metrics`)).text();
    await vi.waitFor(async () => expect(await gauges()).toContain("latchkey_http_calls 1\n"), PATIENT);
    // What a server is asked it passes on in that order, so by this answer the call before it has been served.
    expect(await waiting(key, 1)).toBe(2);
    await held.release();
    const answer = await second;
    expect(answer.status).toBe(200);
    const { token } = (await answer.json()) as { token: string };
    await post(0, `latch/${key}/release`, { token });
    await behind;
    abort.abort();
    await first;
  });

  test("work runs once, wherever it is begun", async () => {
    const key = freshKey();
    let runs = 0;
    const work = (): number => ++runs;
    const options = { fingerprint: "f", timeout: 10_000 };
    const results = await Promise.all(
      [0, 1, 0, 1].map((server) => httpClient(servers[server]!.url).idempotent(key, options, work)),
    );

    expect(results).toEqual([1, 1, 1, 1]);
    expect(runs).toBe(1);
  });

  test("a program without a server takes part: it waits, it lets go, and sessions hear of it", async () => {
    const key = freshKey();
    await using edge = fleet({ redis: place.redis });
    const held = await edge.acquire(key, { ttl: 10_000 });
    expect(await session(0).tryAcquire(key)).toBe(null);
    const next = session(1).acquire(key);
    await vi.waitFor(async () => expect(await waiting(key)).toBe(1), PATIENT);
    expect((await edge.extend(key, held.token, 8000)).ttl).toBe(8000);
    await held.release();
    const lock = await next;
    expect(await edge.tryAcquire(key)).toBe(null);
    const again = edge.acquire(key, { ttl: 10_000, timeout: 10_000 });
    await vi.waitFor(async () => expect(await waiting(key)).toBe(1), PATIENT);
    await lock.release();
    await (await again).release();
    expect(await edge.idempotent(key, {}, () => "once")).toBe("once");
    expect(await edge.idempotent(key, {}, () => "twice")).toBe("once");
  });

  test.each([
    ["a record that is no JSON", async (rec: string) => redis("SET", rec, "damaged")],
    ["a record of another type", async (rec: string) => [await redis("DEL", rec), await redis("HSET", rec, "a", "b")]],
    ["a result that is gone", async (rec: string) => redis("DEL", rec.replace(":rec:", ":res:"))],
  ])("%s is 503 for its key alone, and the work is not run, until an operator forgets it", async (_what, damage) => {
    const key = freshKey();
    const client = httpClient(servers[0]!.url);
    await client.idempotent(key, {}, () => "once");
    await damage(`latchkey:{default}:rec:${key}`);
    for (const server of [0, 1]) {
      expect((await post(server, `idempotency/${key}/begin`, {})).status).toBe(503);
      expect((await post(server, `idempotency/${freshKey()}/begin`, {})).status).toBe(201);
    }
    expect(await client.idempotency.forget(key)).toBe(true);
    expect(await client.idempotent(key, {}, ({ number }) => number)).toBe(1);
  });

  test.each([
    ["damaged", async (rec: string) => redis("SET", rec, "damaged"), UnavailableError],
    ["taken away", async (rec: string) => redis("DEL", rec), AttemptLostError],
  ])("a record that is %s while it runs concerns nobody else when its lease ends", async (_what, damage, told) => {
    const key = freshKey();
    const own = session(0);
    const { attempt } = (await own.idempotency.begin(key, { lease: 300 })) as { attempt: string };
    const waited = own.idempotency.begin(key, { timeout: 400 }).catch((error: unknown) => error);
    await vi.waitFor(async () => expect(await redis("EXISTS", `latchkey:{default}:bq:${key}`)).toBe(1), PATIENT);
    await damage(`latchkey:{default}:rec:${key}`);
    expect(await waited).toBeInstanceOf(IdempotencyInProgressError);
    for (const server of [0, 1]) {
      expect((await post(server, `idempotency/${freshKey()}/begin`, {})).status).toBe(201);
    }
    await expect(own.idempotency.complete(key, attempt, "1")).rejects.toThrow(told);
    await httpClient(servers[0]!.url).idempotency.forget(key);
    expect(await httpClient(servers[0]!.url).idempotency.begin(key)).toMatchObject({ status: "started", number: 1 });
  });

  /** Until the test is over, at most. */
  const stopRedis = (): void => {
    unwatchRedis();
    process.kill(place.server.pid, "SIGSTOP");
    onTestFinished(() => void process.kill(place.server.pid, "SIGCONT"));
  };
  const calm = new Calm();
  /** Redis too, until it is stopped. */
  let unwatchRedis: () => void = () => undefined;
  calm.watch();
  beforeEach(() => {
    unwatchRedis = calm.also(() => redis("PING"));
  });

  test("Redis that comes back in time has cost nobody anything but a wait", calm.options, async () => {
    const key = freshKey();
    const client = session(0);
    const held = await client.acquire(key);
    const readiness = async (): Promise<number> => (await fetch(`${servers[0]!.url}/readyz`)).status;
    stopRedis();
    await vi.waitFor(async () => expect(await readiness()).toBe(503), PATIENT);
    const released = held.release();
    process.kill(place.server.pid, "SIGCONT");
    await released;

    expect(held.signal.aborted).toBe(false);
    await vi.waitFor(async () => expect(await readiness()).toBe(200), PATIENT);
  });

  test(
    "Redis that stays away: callers hear so, sessions are told lost before their lease is over, and all comes back",
    calm.options,
    async () => {
      const [one, other] = await Promise.all([start(LEASE_MS), start(LEASE_MS)]);
      onTestFinished(async () => void (await Promise.all([one.close(), other.close()])));
      const [key, done] = [freshKey(), freshKey()];
      const client = sessionOn(one);
      const held = await client.acquire(key);
      const begun = await client.idempotency.begin(key, { lease: 60_000 });
      await client.idempotent(done, {}, () => "once");
      stopRedis();
      const stoppedAt = performance.now();
      const call = later(postTo(other, `latch/${key}/acquire`, { timeout: 0 }));
      // Whether work was done cannot be said, so it is not begun.
      const begins = [done, freshKey()].map((each) => later(postTo(other, `idempotency/${each}/begin`, {})));
      await new Promise((resolve) => held.signal.addEventListener("abort", resolve, { once: true }));
      const lostAfterMs = performance.now() - stoppedAt;
      expect(begun.status === "started" && begun.signal.aborted).toBe(true);
      for (const answer of [await call, ...(await Promise.all(begins))]) expect(answer.status).toBe(503);
      process.kill(place.server.pid, "SIGCONT");
      expect(lostAfterMs).toBeLessThan(LEASE_MS);
      expect(await sessionOn(other).idempotent(done, {}, () => "twice")).toBe("once");

      const next = await sessionOn(other).acquire(key);
      expect(next.fence).toBeGreaterThan(held.fence);
    },
  );

  test("Redis that lost everything: a new epoch, everybody is told lost, and fences go on upward", async () => {
    const key = freshKey();
    const held = await session(0).acquire(key);
    await redis("FLUSHALL");
    await new Promise((resolve) => held.signal.addEventListener("abort", resolve, { once: true }));

    expect((await session(1).acquire(key)).fence).toBeGreaterThan(held.fence);
  });
});

interface Welcome {
  readonly session: string;
  readonly secret: string;
}

/** The next frame of that type. */
function frame<T>(socket: WebSocket, t: string): Promise<T> {
  return new Promise((resolve) => {
    const look = ({ data }: MessageEvent): void => {
      if (!/^[[{]/.test(String(data))) return;
      const found = [JSON.parse(String(data)) as { t: string }].flat().find((one) => one.t === t);
      if (found === undefined) return;
      socket.removeEventListener("message", look);
      resolve(found as T);
    };
    socket.addEventListener("message", look);
  });
}
