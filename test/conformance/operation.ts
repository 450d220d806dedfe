import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Calm, goesOn } from "./calm.ts";
import { Caller } from "./caller.ts";
import { startPuppet } from "./puppets.ts";
import { secretsIn } from "./secrets.ts";
import { failToStart, startServer, temporaryFolder } from "./server.ts";
import { silence } from "./silence.ts";
import { openSession, openSocket } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

const DRAIN_MAX_MS = 5000;
const FILE_IN_NO_FOLDER: [string, Record<string, string>, string] = [
  "a file in no folder",
  { LATCHKEY_DB: "no/such/folder/latchkey.db" },
  "no/such/folder",
];

export function operation(subject: Subject): void {
  const { hasAdapters } = subject.runtime;
  const testFile = hasAdapters ? test : () => undefined;
  const caller = (): Caller => new Caller(subject.url);
  const calm = new Calm();
  calm.watch(() => [goesOn(subject)]);

  test("a server says that it lives and that it is ready", async () => {
    expect((await caller().request("GET", "/healthz")).status).toBe(200);
    expect((await caller().request("GET", "/readyz")).status).toBe(200);
  });

  test("metrics count, and name neither keys nor spaces nor tokens", async () => {
    const [key, space] = [`metric-${freshKey()}`, "metric-space"];
    using session = await openSession(subject.socketUrl, { space });
    const held = await session.acquire(key);
    const { status, headers, body } = await caller().request("GET", "/metrics");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^text\/plain/);
    expect(body).toMatch(/^latchkey_\w+(?:\{[^}]*\})? \d/m);
    for (const secret of [key, space, held.token]) expect(body).not.toContain(secret);
  });

  test("the description of the API names every call", async () => {
    const { status, body } = await caller().request("GET", "/openapi.json");
    expect(status).toBe(200);
    expect(body.openapi).toMatch(/^3\./);
    const paths = Object.keys(body.paths);
    for (const path of [
      "/v1/latch/{key}/acquire",
      "/v1/latch/{key}/extend",
      "/v1/latch/{key}/release",
      "/v1/latch/{key}",
      "/v1/latch",
      "/v1/session/{session}",
    ]) {
      expect(paths).toContain(path);
    }
  });

  test.each([
    ["an address that others reach, without keys", { HOST: "0.0.0.0" }, "LATCHKEY_KEYS"],
    ["a port that is none", { PORT: "http" }, "PORT"],
    ["a port that is too large", { PORT: "65536" }, "PORT"],
    ["a duration that is none", { LATCHKEY_HEARTBEAT: "5 minutes" }, "LATCHKEY_HEARTBEAT"],
    ["a deadline below the heartbeat", { LATCHKEY_HEARTBEAT: "5s", LATCHKEY_DEADLINE: "4s" }, "LATCHKEY_DEADLINE"],
    ["a key that is too short", { LATCHKEY_KEYS: "hunter2" }, "LATCHKEY_KEYS"],
    ["an origin with a path", { LATCHKEY_ORIGINS: "https://example.com/app" }, "LATCHKEY_ORIGINS"],
    ["an adapter that does not exist", { LOCK_ADAPTER: "paper" }, "LOCK_ADAPTER"],
    ...(hasAdapters ? [FILE_IN_NO_FOLDER] : []),
  ])("a server does not start with %s, and says why in one line", async (_, env, name) => {
    const { code, output } = await failToStart(subject.runtime, env);
    expect(code).not.toBe(0);
    expect(output.trimEnd().split("\n")).toHaveLength(1);
    expect(output).toContain(name);
    expect(output).not.toContain("hunter2");
  });

  test("settings reach the server", async () => {
    await using server = await startServer(subject.runtime, {
      env: {
        ...(hasAdapters && { LOCK_ADAPTER: "memory" }),
        LOCK_TTL: "5s",
        LOCK_PREFIX: "team:",
        LATCHKEY_HEARTBEAT: "2s",
        LATCHKEY_DEADLINE: "7000",
        LATCHKEY_GRACE_MAX: "1m",
      },
    });
    using session = await openSocket(server.socketUrl);
    const welcome = await session.hello({ grace: 86_400_000 });
    expect(welcome).toMatchObject({ ping: 2000, deadline: 7000, grace: 60_000, durable: !hasAdapters });
    const held = await new Caller(server.url).acquire("key");
    expect(held.body).toMatchObject({ key: "key", ttl: 5000 });
    expect((await session.ask({ t: "list" }, "list")).keys).toMatchObject([{ key: "key" }]);
    expect((await new Caller(server.url).request("GET", "/readyz")).body).toMatchObject({ durable: !hasAdapters });
  });

  test("in its quarantine a server grants nothing, and afterwards in order", calm.options, async () => {
    await using server = await startServer(subject.runtime, { env: { LATCHKEY_QUARANTINE: "500ms" } });
    using session = await openSession(server.socketUrl);
    const startedAt = performance.now();
    await session.ask({ t: "acquire", key: "key", timeout: 0 }, "timeout");
    const first = await session.queue("key");
    const second = await session.queue("key");
    const held = await session.granted(first);
    expect(performance.now() - startedAt).toBeLessThan(1000);
    await session.release(held);
    await session.granted(second);
  });

  test("a connection that says no hello within 5 s is closed 4408", calm.options, async ({ task }) => {
    const { code, afterMs } = await (task.result?.retryCount === 0 ? subject.silence : silence(subject.socketUrl));
    expect(code).toBe(4408);
    expect(afterMs).toBeGreaterThan(4990);
    expect(afterMs).toBeLessThan(6500);
  });

  test("a server does not start on a port that is taken, and says so in one line", async () => {
    const { code, output } = await failToStart(subject.runtime, { PORT: new URL(subject.url).port });
    expect(code).not.toBe(0);
    expect(output.trimEnd().split("\n")).toHaveLength(1);
  });

  testFile("a file has one server: the second does not start, and the first does not notice", async () => {
    using folder = temporaryFolder();
    const env = { LATCHKEY_DB: join(folder.path, "locks.db") };
    await using first = await startServer(subject.runtime, { env });
    const { body } = await new Caller(first.url).acquire("key");
    const { code, output } = await failToStart(subject.runtime, env);
    expect(code).not.toBe(0);
    expect(output.trimEnd().split("\n")).toHaveLength(1);
    expect(output).toContain(env.LATCHKEY_DB);
    expect((await new Caller(first.url).release("key", { token: body.token })).status).toBe(200);
  });

  testFile("a file of another program is refused and left as it is", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "precious.txt");
    writeFileSync(path, "a text that is no database, and long enough to be taken for one ".repeat(10));
    const before = readFileSync(path);
    const { code, output } = await failToStart(subject.runtime, { LATCHKEY_DB: path });
    expect(code).not.toBe(0);
    expect(output.trimEnd().split("\n")).toHaveLength(1);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test.each(["SIGTERM", "SIGINT"] as const)(
    "on %s a server drains: sessions and callers are told, and it ends well",
    calm.options,
    async (signal) => {
      await using server = await startServer(subject.runtime);
      using session = await openSession(server.socketUrl);
      using graceful = await openSession(server.socketUrl, { grace: 10_000 });
      using silent = await openSocket(server.socketUrl);
      await session.acquire("key");
      await graceful.acquire("other");
      const waiting = new Caller(server.url).acquire("key", { timeout: 60_000 });
      await new Caller(server.url).waiting("key", 1);

      const startedAt = performance.now();
      const ended = server.stop(signal);
      for (const told of [session, graceful]) {
        expect((await told.next("draining")).retry_after_ms).toBeGreaterThanOrEqual(0);
        expect((await told.closed).code).toBe(1012);
      }
      const answer = await waiting;
      expect(answer).toMatchObject({ status: 503, body: { code: "draining", retryable: true } });
      expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
      await silent.closed;
      expect(await ended).toEqual({ code: 0, signal: null });
      expect(performance.now() - startedAt).toBeLessThan(DRAIN_MAX_MS);
    },
  );

  test("a client that is frozen does not keep a server from its end", calm.options, async () => {
    await using server = await startServer(subject.runtime);
    await using puppet = await startPuppet(server.socketUrl);
    await puppet.socket.acquire("key");
    puppet.process.signal("SIGSTOP");
    const startedAt = performance.now();
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(DRAIN_MAX_MS);
  });

  test("a drained server leaves its locks to the next: HTTP locks, kept ones and sessions with a grace", async () => {
    using folder = temporaryFolder();
    await using first = await startServer(subject.runtime, { folder: folder.path });
    using graceful = await openSocket(first.socketUrl);
    const { session, secret } = await graceful.hello({ grace: 10_000 });
    const held = await graceful.acquire("graceful");
    const { body } = await new Caller(first.url).acquire("http", { ttl: 60_000 });
    await first.stop();
    await using second = await startServer(subject.runtime, { folder: folder.path });
    using again = await openSession(second.socketUrl, { resume: { session, secret } });
    expect((await again.status("graceful")).holders).toMatchObject([{ fence: held.fence }]);
    expect((await again.status("http")).holders).toMatchObject([{ fence: body.fence }]);
  });

  test("nothing that a server prints contains a token or a secret", () => {
    expect(secretsIn(subject.output)).toEqual([]);
  });
}
