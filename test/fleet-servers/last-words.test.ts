import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { serve } from "../../runtimes/node.ts";
import { fleetTimes } from "../../src/fleet/limits.ts";
import type { RunningServer } from "../../src/options.ts";
import { Calm, goesOn } from "../conformance/calm.ts";
import { Caller } from "../conformance/caller.ts";
import { openSession } from "../conformance/socket.ts";
import { hasRedisServer } from "../fleet/support/redis-server.ts";
import { Middleman } from "../fleet/support/middleman.ts";
import { Redis } from "./support/redis.ts";
import { type Name, NAMES, Trio } from "./support/trio.ts";

/** A tenth of it is the time between the last word of a server that is cut off and the first of the others. */
const LEASE_MS = 5000;
const { deadlineMs } = fleetTimes({ leaseMs: LEASE_MS });

interface Heard {
  readonly text: string;
  readonly at: number;
}

let keyLast = 0;
const freshKey = (): string => `key-${++keyLast}`;

/** The test's own process has one of the servers, and all clients. */
const calm = new Calm(4);

describe.skipIf(!hasRedisServer())("three servers behind one wire, and one that is not", calm.options, () => {
  let redis: Redis;
  let middleman: Middleman;
  let trio: Trio;
  let other: RunningServer;
  calm.watch(() => [() => redis.ask("PING")]);

  beforeAll(async () => {
    redis = await Redis.start();
    middleman = await Middleman.start(redis.port);
    trio = await Trio.start({ redis: `redis://127.0.0.1:${middleman.port}`, leaseMs: LEASE_MS });
    const fleet = { redis: redis.url, leaseMs: LEASE_MS, prefix: await prefixOf(redis, trio) };
    other = await serve({ port: 0, fleet, onError: () => undefined });
  });
  beforeEach(async () => {
    for (const name of NAMES) await new Caller(trio.get(name).url).acquire(freshKey(), { ttl: 100 });
  });
  afterAll(async () => {
    middleman?.heal();
    await other?.close();
    await trio?.[Symbol.asyncDispose]();
    await middleman?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
  });

  /** A session of that server holds a key for which one of the other server waits. */
  async function stage(name: Name) {
    const key = freshKey();
    const unlucky = await Unlucky.open(trio.get(name).socketUrl, key);
    const waiting = await openSession(`${other.url.replace("http", "ws")}/v1/session`);
    onTestFinished(() => waiting.terminate());
    const queued = await waiting.queue(key);
    const granted = waiting.granted(queued).then((grant) => ({ ...grant, at: performance.now() }));
    // A test that fails first has nobody who waits for it.
    granted.catch(() => undefined);
    return { name, key, unlucky, granted };
  }

  test("cut off from Redis they tell their sessions and close them, before the others grant", async () => {
    for (const name of NAMES) calm.also(goesOn(trio.get(name)));
    const stages = await Promise.all(NAMES.map(stage));
    middleman.cut();
    onTestFinished(() => middleman.heal());
    for (const { name, unlucky, granted } of stages) {
      const { code, at } = await unlucky.closed;
      const next = await granted;
      console.log(`${name}: closed ${(next.at - at).toFixed(0)} ms before the next has the key (lease ${LEASE_MS} ms)`);
      expect(code).toBe(4500);
      expect(at).toBeLessThan(next.at);
      expect(unlucky.last("error")).toMatchObject({ code: "unavailable" });
      // What a client concludes from the last ack is over by then as well, whether or not it was told.
      expect(unlucky.ackedAt + deadlineMs).toBeLessThan(next.at);
    }
    middleman.heal();
    for (const { name, key, granted } of stages) {
      const caller = new Caller(trio.get(name).url);
      const { fence } = await granted;
      await expect.poll(async () => (await caller.status(key)).status, { timeout: 10_000 }).toBe(200);
      expect((await caller.status(key)).body.holders).toMatchObject([{ fence }]);
    }
  });

  test("frozen past their lease they say nothing on waking but that it is over, whatever they were asked", async () => {
    const stages = await Promise.all(NAMES.map(stage));
    for (const { name } of stages) trio.get(name).process.signal("SIGSTOP");
    onTestFinished(() => {
      for (const name of NAMES) trio.get(name).process.signal("SIGCONT");
    });
    for (const { unlucky } of stages) unlucky.askForEverything();
    await Promise.all(stages.map(({ granted }) => granted));
    for (const { name, unlucky } of stages) {
      const before = unlucky.heard.length;
      trio.get(name).process.signal("SIGCONT");
      // Whichever it notices first: that its lease is over, or that it has not heard of the session for so long.
      expect([4500, 4410]).toContain((await unlucky.closed).code);
      const said = unlucky.heard
        .slice(before)
        .filter(({ text }) => text !== "ping" && !text.startsWith('{"t":"error"'));
      expect(said).toEqual([]);
    }
    for (const { name, key, granted } of stages) {
      const { fence } = await granted;
      const { status, body } = await new Caller(trio.get(name).url).status(key);
      expect({ status, holders: body.holders }).toMatchObject({ status: 200, holders: [{ fence }] });
    }
  });
});

/** A session that holds a key, answers pings, and writes down what it is told and when. */
class Unlucky {
  readonly heard: Heard[] = [];
  readonly closed: Promise<{ readonly code: number; readonly at: number }>;
  readonly #socket: WebSocket;
  readonly #key: string;

  private constructor(socket: WebSocket, key: string) {
    this.#socket = socket;
    this.#key = key;
    this.closed = new Promise((resolve) => {
      socket.once("close", (code) => resolve({ code, at: performance.now() }));
    });
    socket.on("message", (bytes: Buffer) => {
      const text = bytes.toString();
      if (text === "ping") socket.send("pong");
      const at = performance.now();
      const texts = text.startsWith("[") ? (JSON.parse(text) as object[]).map((one) => JSON.stringify(one)) : [text];
      for (const each of texts) this.heard.push({ text: each, at });
    });
  }

  static async open(url: string, key: string): Promise<Unlucky> {
    const socket = new WebSocket(url, ["latchkey.v1"]);
    onTestFinished(() => socket.terminate());
    await new Promise((resolve, reject) => {
      socket.once("open", resolve).once("error", reject);
    });
    const unlucky = new Unlucky(socket, key);
    socket.send(JSON.stringify({ t: "hello", v: 1 }));
    socket.send(JSON.stringify({ t: "acquire", id: "holds", key }));
    await expect.poll(() => unlucky.last("granted"), { timeout: 10_000 }).toMatchObject({ id: "holds" });
    return unlucky;
  }

  /** When the latest ack arrived; the welcome, if none did. */
  get ackedAt(): number {
    return this.heard.findLast(({ text }) => text === "ack" || text.includes('"welcome"'))?.at ?? Number.NaN;
  }

  last(t: string): object | undefined {
    const found = this.heard.findLast(({ text }) => text.startsWith(`{"t":"${t}"`));
    return found && (JSON.parse(found.text) as object);
  }

  askForEverything(): void {
    const { token } = this.last("granted") as { readonly token: string };
    this.#socket.send("pong");
    this.#socket.send(JSON.stringify({ t: "status", id: "1", key: this.#key }));
    this.#socket.send(JSON.stringify({ t: "acquire", id: "2", key: this.#key, token, nest: true }));
    this.#socket.send(JSON.stringify({ t: "acquire", id: "3", key: freshKey() }));
    this.#socket.send(JSON.stringify({ t: "release", id: "4", key: this.#key, token }));
    this.#socket.send("pong");
  }
}

/** What the servers of a trio put before all names: their folder's. */
async function prefixOf(redis: Redis, trio: Trio): Promise<string> {
  await new Caller(trio.get("node").url).acquire(freshKey(), { ttl: 100 });
  const [name = ""] = (await redis.ask("KEYS", "*")) as string[];
  return name.slice(0, name.indexOf("{"));
}
