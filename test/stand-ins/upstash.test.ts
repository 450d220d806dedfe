import { Redis } from "@upstash/redis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { start, whyMissing } from "../../bench/servers/kinds.ts";
import type { BenchServer } from "../../bench/servers/server.ts";
import { startUpstash, type UpstashStandIn } from "./upstash.ts";

const missing = whyMissing("redis");
if (missing !== undefined) console.log(`skipped: the stand-in for Upstash needs a real Redis: ${missing}`);

describe.skipIf(missing !== undefined)("the stand-in for Upstash", () => {
  let server: BenchServer;
  let upstash: UpstashStandIn;
  let redis: Redis;

  beforeAll(async () => {
    server = await start("redis");
    upstash = await startUpstash({ redisUrl: server.url });
    redis = clientOf(upstash);
  });
  afterAll(async () => {
    await upstash?.close();
    await server?.stop();
  });
  beforeEach(async () => {
    await redis.flushall();
  });

  test("texts, numbers, nothing and lists arrive as the real client expects them", async () => {
    expect(await redis.set("a", "größer ☃")).toBe("OK");
    expect(await redis.get("a")).toBe("größer ☃");
    expect(await redis.get("none")).toBeNull();
    expect(await redis.incr("n")).toBe(1);
    expect(await redis.mget("a", "none", "n")).toEqual(["größer ☃", null, "1"]);
  });

  test("every text is base64 where that is asked for, also within lists, except OK", async () => {
    const raw = (command: readonly unknown[], headers = {}) => post(upstash, "/", command, headers);
    const base64 = { "Upstash-Encoding": "base64" };
    const script = "return {'a', {'b', 7, false}, 'OK'}";
    expect(await raw(["SET", "k", "OK?"], base64)).toEqual([200, { result: "OK" }]);
    expect(await raw(["GET", "k"], base64)).toEqual([200, { result: "T0s/" }]);
    expect(await raw(["EVAL", script, 0], base64)).toEqual([200, { result: ["YQ==", ["Yg==", 7, null], "OK"] }]);
    expect(await raw(["EVAL", script, 0])).toEqual([200, { result: ["a", ["b", 7, null], "OK"] }]);
    expect(await raw(["EVAL", String.raw`return '\255\000'`, 0], base64)).toEqual([200, { result: "/wA=" }]);
  });

  test("an error of Redis is the command's own, with the status 400", async () => {
    expect(await post(upstash, "/", ["NOSUCH"])).toEqual([
      400,
      { error: expect.stringMatching(/^ERR unknown command/) },
    ]);
    await redis.set("a", "text");
    // Otherwise the client makes a pipeline of it by itself.
    const single = clientOf(upstash, { enableAutoPipelining: false });
    await expect(single.incr("a")).rejects.toThrow(/^ERR value is not an integer.*command was/);
    await expect(single.eval("return redis.error_reply('LOST it')", [], [])).rejects.toThrow(/^LOST it/);
    await expect(redis.incr("a")).rejects.toThrow("ERR value is not an integer");
  });

  test("a pipeline goes on behind an error", async () => {
    const body = [
      ["SET", "a", "x"],
      ["INCR", "a"],
      ["GET", "a"],
    ];
    expect(await post(upstash, "/pipeline", body)).toEqual([
      200,
      [{ result: "OK" }, { error: expect.stringMatching(/^ERR value/) }, { result: "x" }],
    ]);
    const pipeline = redis.pipeline().set("b", "y").get("b");
    expect(await pipeline.exec()).toEqual(["OK", "y"]);
  });

  test("a transaction that Redis does not take is discarded whole; what fails while running is among the results", async () => {
    expect(await post(upstash, "/multi-exec", [["SET", "a", "1"], ["NOSUCH"]])).toEqual([
      400,
      { error: expect.stringMatching(/^ERR unknown command/) },
    ]);
    expect(await redis.get("a")).toBeNull();
    expect(
      await post(upstash, "/multi-exec", [
        ["SET", "a", "x"],
        ["INCR", "a"],
        ["GET", "a"],
      ]),
    ).toEqual([200, [{ result: "OK" }, { error: expect.stringMatching(/^ERR value/) }, { result: "x" }]]);
    expect(await redis.multi().incr("n").incr("n").exec()).toEqual([1, 2]);
  });

  test("transactions that arrive together do not mix", async () => {
    const transactions = Array.from({ length: 20 }, async (_, index) => {
      const name = `t${index}`;
      const multi = redis.multi().set("last", name).rpush("order", `${name}a`).rpush("order", `${name}b`).get("last");
      expect((await multi.exec())[3]).toBe(name);
    });
    await Promise.all(transactions);
    const order = await redis.lrange("order", 0, -1);
    const pairs = order.filter((_, index) => index % 2 === 0);
    expect(order).toEqual(pairs.flatMap((first) => [first, first.replace("a", "b")]));
    expect(order).toHaveLength(40);
  });

  test("a script is loaded when it is missing, then known by its hash", async () => {
    const script = redis.createScript<[string, string]>("return {KEYS[1], ARGV[1]}");
    await expect(redis.evalsha("0".repeat(40), [], [])).rejects.toThrow(/NOSCRIPT/);
    expect(await script.exec(["k"], ["v"])).toEqual(["k", "v"]);
    expect(await script.exec(["k"], ["v"])).toEqual(["k", "v"]);
  });

  test("a script that asks for locking by key runs, and keeps the hash that its client computes", async () => {
    const text = "#!lua flags=allow-key-locking\nreturn redis.call('INCR', KEYS[1])";
    expect(await redis.eval(text, ["n"], [])).toBe(1);
    const sha = await redis.scriptLoad(text);
    const byClient = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
    expect(sha).toBe(Buffer.from(byClient).toString("hex"));
    expect(await redis.scriptExists(sha)).toEqual([1]);
    expect(await redis.evalsha(sha, ["n"], [])).toBe(2);
    expect(await redis.scriptFlush()).toBe("OK");
    expect(await redis.scriptExists(sha)).toEqual([0]);
    await expect(redis.evalsha(sha, ["n"], [])).rejects.toThrow(/NOSCRIPT/);
  });

  test("what would block or change the shared connection is refused", async () => {
    for (const command of [["BLPOP", "l", 0], ["watch", "a"], ["MULTI"], ["xread", "block", 0, "STREAMS", "s", "$"]]) {
      expect(await post(upstash, "/", command)).toEqual([
        400,
        { error: expect.stringMatching(/^ERR Command is not av/) },
      ]);
    }
    const body = [
      ["SET", "a", "1"],
      ["SUBSCRIBE", "c"],
    ];
    expect(await post(upstash, "/multi-exec", body)).toEqual([400, { error: expect.stringMatching(/SUBSCRIBE/) }]);
    expect(await redis.get("a")).toBeNull();
  });

  test("no token, a wrong one, another method, another path and a broken body are turned away", async () => {
    const get = (init: RequestInit) => fetch(upstash.url, init).then(({ status }) => status);
    expect(await get({ method: "POST", body: '["PING"]' })).toBe(401);
    expect(await get({ method: "POST", body: '["PING"]', headers: { authorization: "Bearer wrong" } })).toBe(401);
    expect(await get({ headers: { authorization: `Bearer ${upstash.token}` } })).toBe(405);
    expect((await post(upstash, "/nothing", ["PING"]))[0]).toBe(404);
    for (const body of [[], {}, "PING", null]) expect((await post(upstash, "/", body))[0]).toBe(400);
    for (const body of [[], ["PING"], [[]]]) expect((await post(upstash, "/pipeline", body))[0]).toBe(400);
    const stranger = new Redis({ url: upstash.url, token: "wrong", retry: false });
    await expect(stranger.get("a")).rejects.toThrow(/^Unauthorized/);
  });

  test("what is published reaches those who subscribed, by name and by pattern", async () => {
    const byName = redis.subscribe<string>(["news"]);
    const byPattern = redis.psubscribe<string>(["new*"]);
    await Promise.all([told(byName, "subscribe"), told(byPattern, "psubscribe")]);
    const heard = Promise.all([told(byName, "message"), told(byPattern, "pmessage")]);
    expect(await redis.publish("news", "one, two")).toBe(2);
    expect(await heard).toEqual([
      { channel: "news", message: "one, two" },
      { pattern: "new*", channel: "news", message: "one, two" },
    ]);
    await Promise.all([byName.unsubscribe(), byPattern.unsubscribe()]);
    await until(async () => (await redis.publish("news", "nobody")) === 0);
  });

  test("cut streams end for the client and in Redis", async () => {
    const subscriber = redis.subscribe(["news"]);
    await told(subscriber, "subscribe");
    expect(upstash.cutStreams()).toBe(1);
    await until(async () => (await redis.publish("news", "nobody")) === 0);
    expect(upstash.cutStreams()).toBe(0);
  });

  test("closing ends its streams and connections, and leaves Redis alone", async () => {
    const other = await startUpstash({ redisUrl: server.url, token: "other" });
    const client = clientOf(other);
    await client.set("a", "1");
    const subscriber = client.subscribe(["news"]);
    await told(subscriber, "subscribe");
    await other.close();
    await expect(client.get("a")).rejects.toThrow("fetch failed");
    await until(async () => (await redis.publish("news", "nobody")) === 0);
    expect(await redis.get("a")).toBe("1");
  });

  test("without a Redis it does not start", async () => {
    await expect(startUpstash({ redisUrl: "redis://127.0.0.1:1" })).rejects.toThrow("ECONNREFUSED");
  });
});

/** As a program that keeps tokens in Redis must set it up: a text is never taken for a number. */
function clientOf({ url, token }: UpstashStandIn, options: { readonly enableAutoPipelining?: boolean } = {}): Redis {
  const asIs = { automaticDeserialization: false, enableTelemetry: false, retry: false } as const;
  return new Redis({ url, token, ...asIs, ...options });
}

async function post(
  { url, token }: UpstashStandIn,
  path: string,
  body: unknown,
  headers: object = {},
): Promise<[number, unknown]> {
  const init = {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify(body),
  };
  const response = await fetch(`${url}${path}`, init);
  return [response.status, await response.json()];
}

type Subscriber = ReturnType<Redis["subscribe"]>;

function told(subscriber: Subscriber, event: "subscribe" | "psubscribe" | "message" | "pmessage"): Promise<unknown> {
  return new Promise((resolve, reject) => {
    subscriber.on(event, resolve);
    subscriber.on("error", reject);
  });
}

/** The end of a connection reaches Redis after it reached the client. Each try is a round trip; the test's time limits them. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo()));
}
