/** A space over several objects, behind one URL and one client. */

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Contended } from "../../src/client/index.ts";
import { httpClient } from "../../src/client/http.ts";
import { connect } from "../../src/client/idempotency.ts";
import { partOf } from "../../src/protocol/spread.ts";
import { Caller } from "../conformance/caller.ts";
import { openEvents } from "../conformance/events.ts";
import { workers } from "../conformance/runtimes.ts";
import { type Server, startServer } from "../conformance/server.ts";
import { openSession } from "../conformance/socket.ts";

const SPREAD = 4;
const KEYS = Array.from({ length: 20 }, (_, i) => `key-${String(i).padStart(2, "0")}`);

const PATIENCE = { timeout: 20_000, interval: 10 };

let server: Server;
let caller: Caller;

beforeAll(async () => {
  server = await startServer(workers, { env: { LATCHKEY_SPREAD: String(SPREAD) } });
  caller = new Caller(server.url);
});

afterAll(() => server[Symbol.asyncDispose]());

test("calls go to the part that has the key, and the list is of all parts, page by page and in order", async () => {
  for (const key of KEYS) expect((await caller.acquire(key)).status).toBe(200);
  for (const key of KEYS) expect((await caller.acquire(key, { timeout: 0 })).status).toBe(408);
  expect(new Set(KEYS.map((key) => partOf(key, SPREAD))).size).toBe(SPREAD);
  const seen: string[] = [];
  let after = "";
  do {
    const { body } = await caller.request("GET", `/v1/latch?count=6${after === "" ? "" : `&after=${after}`}`);
    seen.push(...body.keys.map(({ key }: { key: string }) => key));
    after = body.next ?? "";
  } while (after !== "");
  expect(seen).toEqual(KEYS);
  const { body: metrics } = await caller.request("GET", "/metrics");
  expect(metrics).toContain(`latchkey_acquires_total{result="granted"} ${KEYS.length}`);
  expect(metrics).toContain(`latchkey_keys ${KEYS.length}`);
});

test("events of a prefix are of all parts, and those of a key come from its own", async () => {
  const url = (path: string): string => `${server.url}${path}${path.includes("?") ? "&" : "?"}space=events`;
  using all = await openEvents(url("/v1/events?prefix=key-"));
  using one = await openEvents(url("/v1/latch/key-03/events"));
  const events = new Caller(server.url, { space: "events" });
  for (const key of KEYS) expect((await events.acquire(key)).status).toBe(200);
  const seen = new Set<string>();
  while (seen.size < KEYS.length) seen.add((await all.next(({ status }) => status === "held")).key);
  expect(await one.next(({ status }) => status === "held")).toMatchObject({ key: "key-03" });
  using refused = await openEvents(url(`/v1/events?prefix=${"x".repeat(256)}`));
  expect(refused.response.status).toBe(400);
});

test("a client is one session in its API, whatever the keys", async () => {
  await using client = connect(server.url, { space: "clients" });
  await using other = connect(server.url, { space: "clients" });
  const locks = await Promise.all(KEYS.map((key) => client.acquire(key)));
  expect(client.connection).toBe("connected");
  expect(await other.tryAcquire(KEYS[0]!)).toBeNull();
  const waiting = other.acquire(KEYS[3]!);
  expect((await client.list()).keys.map(({ key }) => key)).toEqual(KEYS);
  await locks[3]!.release();
  expect((await waiting).fence).toBeGreaterThan(0);
  await client.withLock(["a", "b", "c", "d"], async ({ locks: held }) => expect(held).toHaveLength(4));
  await client.close();
  expect((await other.list()).keys.map(({ key }) => key)).toEqual([KEYS[3]]);
});

test("idempotent work is found in the part of its key, by sessions and by callers", async () => {
  await using session = connect(server.url, { space: "work" });
  const remote = httpClient(server.url, { space: "work" });
  for (const key of KEYS) {
    expect(await session.idempotent(key, { fingerprint: "f" }, () => key)).toBe(key);
    expect(await remote.idempotent(key, { fingerprint: "f" }, () => expect.fail("it ran"))).toBe(key);
  }
  const one = await session.idempotency.begin("one");
  const started = one.status === "started" ? one : expect.fail("not started");
  await remote.idempotency.complete("one", started.attempt, "1");
  expect(await session.idempotency.forget("one")).toBe(true);
});

test("a key is watched in its part and a prefix in all of them, and asking and handing on find the part of their key", async () => {
  await using holder = connect(server.url, { space: "watched" });
  await using other = connect(server.url, { space: "watched" });
  const prefix = other.watch({ prefix: "key-" });
  const one = other.watch(KEYS[3]!);
  const locks = await Promise.all(KEYS.map((key) => holder.acquire(key)));
  await vi.waitUntil(() => prefix.isCurrent && prefix.states.size === KEYS.length, PATIENCE);
  await vi.waitUntil(() => one.state?.holders[0]?.fence === locks[3]!.fence, PATIENCE);
  await locks[0]!.release();
  await vi.waitUntil(() => !prefix.states.has(KEYS[0]!), PATIENCE);
  const asked = new Promise<Contended>((resolve) => {
    locks[3]!.addEventListener("contended", ({ detail }) => detail.asks.length > 0 && resolve(detail));
  });
  const waiting = other.acquire(KEYS[3]!);
  await other.requestAccess(KEYS[3]!, "may I?");
  const [ask] = (await asked).asks;
  await locks[3]!.handTo(ask!.session!);
  await waiting;
  await vi.waitUntil(() => one.state?.holders[0]?.isMe === true, PATIENCE);
});

test("a connection for one part says so, and refuses the keys of others", async () => {
  const url = `${server.socketUrl}?space=raw&part=2`;
  using session = await openSession(url);
  const [mine, others] = [
    KEYS.find((key) => partOf(key, SPREAD) === 2)!,
    KEYS.find((key) => partOf(key, SPREAD) !== 2)!,
  ];
  await session.acquire(mine);
  const refused = await session.ask({ t: "acquire", key: others }, "refused");
  expect(refused).toMatchObject({ code: "misdirected", retryable: false });
  await expect(openSession(`${server.socketUrl}?part=${SPREAD}`)).rejects.toThrow("400");
});

test("a drain reaches every part", async () => {
  await using draining = await startServer(workers, { env: { LATCHKEY_SPREAD: String(SPREAD) } });
  const urls = Array.from({ length: SPREAD }, (_, part) => `${draining.socketUrl}?space=default&part=${part}`);
  const sessions = await Promise.all(urls.map((url) => openSession(url)));
  const ended = draining.stop("SIGTERM");
  for (const session of sessions) {
    await session.next("draining");
    expect((await session.closed).code).toBe(1012);
  }
  expect(await ended).toEqual({ code: 0, signal: null });
});
