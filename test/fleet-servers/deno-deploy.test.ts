import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Calm, goesOn } from "../conformance/calm.ts";
import { Caller } from "../conformance/caller.ts";
import { Child } from "../conformance/child.ts";
import { deno, node } from "../conformance/runtimes.ts";
import { failToStart, type Server, startServer, temporaryFolder } from "../conformance/server.ts";
import { openSession } from "../conformance/socket.ts";
import { hasRedisServer } from "../fleet/support/redis-server.ts";
import { type Place, PLACES, startPlace } from "../fleet/support/places.ts";
import { inFleet } from "./support/runtime.ts";

/** Deno Deploy sends SIGINT, and kills so much later. */
const KILLED_AFTER_MS = 5000;
const KEY = "a-key-for-everybody";
const ON_DEPLOY = { DENO_DEPLOY: "1", DENO_DEPLOYMENT_ID: "x1y2z3" };

describe("Deno on Deno Deploy", () => {
  test.each([
    ["by one of its variables", { DENO_DEPLOY: "1" }],
    ["by the other", { DENO_DEPLOYMENT_ID: "x1y2z3" }],
    ["with locks in memory", { ...ON_DEPLOY, LOCK_ADAPTER: "memory" }],
    ["with locks in SQLite, and keys", { ...ON_DEPLOY, LOCK_ADAPTER: "sqlite", LATCHKEY_KEYS: KEY }],
  ])("refuses to keep locks in memory or SQLite, in one line that says what to set: %s", async (_, env) => {
    const { code, output } = await failToStart({ ...deno, env: () => ({}) }, env);
    expect(code).toBe(1);
    expect(output.trimEnd()).toMatch(/^latchkey: Deno Deploy runs many processes, .*set LOCK_ADAPTER=redis[^\n]*$/);
  });

  test("the same settings start a server elsewhere", async () => {
    await using server = await startServer(node, { env: ON_DEPLOY });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });
});

/** In a task `deno` is the package of that name, where it is installed, and that is a binary which Deno takes for a script. */
test.each([
  ["start", { PORT: "http" }, "latchkey: PORT: must be "],
  ["fleet", {}, "latchkey: LOCK_ADAPTER: redis needs REDIS_URL"],
])("the task %s of deno.json starts a server with its settings", async (task, env, said) => {
  const config = fileURLToPath(new URL("../../deno.json", import.meta.url));
  await using child = new Child([deno.command[0]!, "task", "--quiet", "--config", config, task], env);
  expect((await child.ended).code).toBe(1);
  expect(child.output).toMatch(new RegExp(`^${said}`));
});

describe.skipIf(!hasRedisServer()).each(PLACES)("Deno on Deno Deploy, in a fleet with Redis %s", (kind) => {
  let place: Place;
  let folder: ReturnType<typeof temporaryFolder>;
  let other: Server;

  const start = (runtime: typeof deno, env: Readonly<Record<string, string>>): Promise<Server> =>
    startServer(inFleet(runtime, place.redis), { folder: folder.path, env: { LATCHKEY_KEYS: KEY, ...env } });
  const hello = { auth: KEY };

  beforeAll(async () => {
    place = await startPlace(kind);
    folder = temporaryFolder();
    other = await start(node, {});
  });
  afterAll(async () => {
    await other?.[Symbol.asyncDispose]();
    folder?.remove();
    await place?.[Symbol.asyncDispose]();
  });

  const calm = new Calm(4);
  calm.watch(() => [goesOn(other)]);

  /** Where it is reached from here, whatever it listens on. */
  const here = (url: string): string => url.replace("0.0.0.0", "127.0.0.1");

  async function begin() {
    const server = await start(deno, ON_DEPLOY);
    onTestFinished(() => server[Symbol.asyncDispose]());
    const session = await openSession(here(server.socketUrl), hello);
    const waiting = await openSession(other.socketUrl, hello);
    onTestFinished(() => [session, waiting].forEach((socket) => socket.terminate()));
    await session.acquire("key");
    return { server, session, waiting, queued: await waiting.queue("key") };
  }

  test("it lets the world in, so it does not start without keys", async () => {
    const { code, output } = await failToStart(inFleet(deno, place.redis), ON_DEPLOY);
    expect(code).toBe(1);
    expect(output.trimEnd()).toMatch(/^latchkey: [^\n]*0\.0\.0\.0, needs keys[^\n]*$/);
  });

  test("on SIGINT it sends everybody away and leaves, so that others go on at once", calm.options, async () => {
    calm.also(() => new Caller(other.url, { auth: KEY }).status("nothing"));
    const { server, session, waiting, queued } = await begin();
    expect(server.url).toContain("0.0.0.0");
    const call = new Caller(here(server.url), { auth: KEY }).acquire("key", { timeout: 60_000 });
    await new Caller(other.url, { auth: KEY }).waiting("key", 2);
    const toldAt = performance.now();
    const ended = server.stop("SIGINT");
    expect((await session.next("draining")).retry_after_ms).toBeGreaterThanOrEqual(0);
    expect((await session.closed).code).toBe(1012);
    expect(await call).toMatchObject({ status: 503, body: { code: "draining" } });
    await waiting.granted(queued);
    expect(await ended).toEqual({ code: 0, signal: null });
    // Long before the lease of its process, and before it would have been killed.
    expect(performance.now() - toldAt).toBeLessThan(KILLED_AFTER_MS);
  });

  test("on SIGINT it ends in time although Redis is silent", calm.options, async () => {
    const { server, session } = await begin();
    process.kill(place.server.pid, "SIGSTOP");
    onTestFinished(() => void process.kill(place.server.pid, "SIGCONT"));
    const toldAt = performance.now();
    const ended = server.stop("SIGINT");
    expect((await session.closed).code).toBe(1012);
    expect(await ended).toEqual({ code: 0, signal: null });
    const tookMs = performance.now() - toldAt;
    console.log(`ended after ${tookMs.toFixed(0)} ms`);
    expect(tookMs).toBeLessThan(KILLED_AFTER_MS);
  });
});
