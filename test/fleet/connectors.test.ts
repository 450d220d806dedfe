import { Redis } from "@upstash/redis";
import { createClient } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { CALL_MAX_MS, type Connector, inspected } from "../../src/fleet/connector.ts";
import { replyError, silence } from "../../src/fleet/error.ts";
import { connectTcp } from "../../src/fleet/tcp.ts";
import { connectOver, connectUpstash } from "../../src/fleet/upstash.ts";
import { Calm } from "../conformance/calm.ts";
import { type Place, PLACES, startPlace } from "./support/places.ts";
import { hasRedisServer } from "./support/redis-server.ts";

const ECHO = "return cjson.encode({KEYS[1], ARGV[1], ARGV[2]})";
const SECRET = "tok-5f1c";

/** A Redis that stands still for as long as a call may take cannot be reached. */
const calm = new Calm();
/** Where Redis stands still because the test wants it. */
const calmHere = new Calm();

describe.skipIf(!hasRedisServer()).each(PLACES)("Redis %s", calm.options, (kind) => {
  let place: Place;
  let connector: Connector;
  const redis = (...args: readonly string[]): Promise<unknown> => admin.sendCommand([...args]);
  let admin: ReturnType<typeof createClient>;

  beforeAll(async () => {
    place = await startPlace(kind);
    connector = place.connect();
    admin = createClient({ url: place.server.url });
    await admin.connect();
  });
  afterAll(async () => {
    admin?.destroy();
    await connector?.close();
    await place?.[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    await redis("CONFIG", "SET", "maxmemory", "0");
    await redis("CONFIG", "SET", "maxmemory-policy", "noeviction");
    await redis("REPLICAOF", "NO", "ONE");
  });

  calm.watch(() => [() => redis("PING")]);
  calmHere.watch();

  const testRest = kind === "over REST" ? test : () => undefined;
  const testTcp = kind === "over TCP" ? test : () => undefined;
  const run = (script: string, ...args: readonly string[]): Promise<string> =>
    connector.run({ script, keys: ["{s}"], args });

  test("a script gives the text that it replies with, whatever is in it", async () => {
    expect(JSON.parse(await run(ECHO, "123", "größer ☃ \u0000"))).toEqual(["{s}", "123", "größer ☃ \u0000"]);
    expect(await run("return '7'")).toBe("7");
  });

  test("a script that Redis has forgotten is loaded again", async () => {
    const before = await run(ECHO, "a", "b");
    await redis("SCRIPT", "FLUSH");

    expect(await run(ECHO, "a", "b")).toBe(before);
    await expect(redis("EVALSHA", "ffffffffffffffffffffffffffffffffffffffff", "0")).rejects.toThrow("NOSCRIPT");
  });

  test.each([
    ["full", "redis.call('SET', KEYS[1], ARGV[1])", () => redis("CONFIG", "SET", "maxmemory", "1")],
    ["replica", "redis.call('SET', KEYS[1], ARGV[1])", () => redis("REPLICAOF", "127.0.0.1", "1")],
    ["broken", "return redis.error_reply('WRONG thing')", undefined],
    ["broken", "nonsense", undefined],
  ] as const)("what Redis refuses is %s, and nothing that was sent is said", async (code, script, prepare) => {
    await prepare?.();
    const error = await run(script, SECRET).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ name: "FleetError", code });
    expect(String(error)).not.toContain(SECRET);
  });

  test("who must not do it is told that, and no password", async () => {
    const url = kind === "over TCP" ? `redis://default:${SECRET}@127.0.0.1:${place.server.port}` : undefined;
    if (url !== undefined) await redis("CONFIG", "SET", "requirepass", "right");
    onTestFinished(() => void (url !== undefined && redis("CONFIG", "SET", "requirepass", "")));
    const wrong = url === undefined ? connectUpstash((place.redis as { url: string }).url, SECRET) : connectTcp(url);
    onTestFinished(() => wrong.close());
    const error = await wrong.run({ script: ECHO, keys: ["k"], args: [] }).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ name: "FleetError", code: "forbidden" });
    expect(String(error)).not.toContain(SECRET);
  });

  testTcp("a Redis that takes no more connections may take one later", async () => {
    const late = place.connect();
    onTestFinished(() => late.close());
    await redis("CONFIG", "SET", "maxclients", "1");
    onTestFinished(() => void redis("CONFIG", "SET", "maxclients", "10000"));
    await expect(late.run({ script: ECHO, keys: ["k"], args: [] })).rejects.toMatchObject({ code: "busy" });
    const listening = vi.fn<() => void>();
    late.subscribe("late", { message: () => undefined, listening });
    await redis("CONFIG", "SET", "maxclients", "10000");
    await expect(late.run({ script: ECHO, keys: ["k"], args: [] })).resolves.toContain("k");
    await vi.waitFor(() => expect(listening).toHaveBeenCalled(), 5000);
  });

  testTcp("whatever Redis says when a connection begins, nothing was done by it", async () => {
    const elsewhere = connectTcp(`${place.server.url}/99`);
    onTestFinished(() => elsewhere.close());
    await expect(elsewhere.run({ script: ECHO, keys: ["k"], args: [] })).rejects.toMatchObject({
      code: "busy",
      message: /DB index is out of range/,
      isPassing: true,
    });
  });

  test("a Redis that drops keys when it is full, or that is a replica, is not taken", async () => {
    expect(await connector.inspect()).toEqual({ durable: kind === "over REST" });
    await redis("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    await expect(connector.inspect()).rejects.toMatchObject({ code: "unsuitable", message: /allkeys-lru/ });
    await redis("CONFIG", "SET", "maxmemory-policy", "noeviction");
    await redis("REPLICAOF", "127.0.0.1", "1");
    await expect(connector.inspect()).rejects.toMatchObject({ code: "replica" });
  });

  test("it listens over interruptions, and says when it listens again", async () => {
    const heard: string[] = [];
    let listening = 0;
    const channel = `c-${kind}`;
    const subscription = connector.subscribe(channel, {
      message: (text) => void heard.push(text),
      listening: () => void listening++,
    });
    await vi.waitFor(() => expect(listening).toBe(1), 5000);
    await redis("PUBLISH", channel, '{"a":1}');
    await vi.waitFor(() => expect(heard).toEqual(['{"a":1}']), 5000);
    await place.cutListeners(redis);
    // Over REST nothing tells of the cut: whoever misses something asks for a new stream.
    if (kind === "over REST") subscription.renew();
    await vi.waitFor(() => expect(listening).toBe(2), 5000);
    await redis("PUBLISH", channel, "two, three");
    await vi.waitFor(() => expect(heard).toEqual(['{"a":1}', "two, three"]), 5000);
    subscription.renew();
    await vi.waitFor(() => expect(listening).toBe(3), 5000);
    await redis("PUBLISH", channel, "four");
    await vi.waitFor(() => expect(heard).toHaveLength(3), 5000);

    subscription.close();
    await vi.waitFor(async () => expect(await redis("PUBSUB", "CHANNELS", channel)).toEqual([]), 5000);
  });

  test("a Redis that is silent is given up in time, and asked again when it speaks", calmHere.options, async () => {
    await run(ECHO, "a", "b");
    process.kill(place.server.pid, "SIGSTOP");
    onTestFinished(() => void process.kill(place.server.pid, "SIGCONT"));
    const before = performance.now();
    await expect(run(ECHO, "a", "b")).rejects.toMatchObject({ code: "unreachable" });
    expect(performance.now() - before).toBeLessThan(CALL_MAX_MS * 2.5);
    // It has no connection any more, and the next one is taken by the machine alone.
    await expect(run(ECHO, "a", "b")).rejects.toMatchObject({ code: "unreachable" });
    process.kill(place.server.pid, "SIGCONT");

    await vi.waitFor(async () => expect(await run(ECHO, "a", "b")).toContain("a"), 10_000);
    const open = async () => String(await redis("CLIENT", "LIST")).match(/ cmd=(?:info|evalsha) /g);
    await vi.waitFor(async () => expect(await open()).toEqual([" cmd=evalsha "]), 5000);
  });

  test("a Redis that is not there is named by what is known of it", async () => {
    const gone =
      kind === "over TCP"
        ? connectTcp(`redis://u:${SECRET}@127.0.0.1:1`)
        : connectUpstash("http://127.0.0.1:1", SECRET);
    onTestFinished(() => gone.close());
    const error = await gone.inspect().catch((reason: unknown) => reason);

    expect(error).toMatchObject({ name: "FleetError", code: "unreachable" });
    expect(String(error)).not.toContain(SECRET);
  });

  testRest("a client with other options than ours gives and hears the same", async () => {
    const theirs = connectOver(() => new Redis(place.redis as { url: string; token: string }));
    onTestFinished(() => theirs.close());
    const heard: string[] = [];
    const told = vi.fn<() => void>();
    theirs.subscribe("theirs", { message: (text) => void heard.push(text), listening: told });
    await vi.waitFor(() => expect(told).toHaveBeenCalled(), 5000);
    await redis("SCRIPT", "FLUSH");
    const reply = await theirs.run({ script: ECHO, keys: ["k"], args: ["123", "1e3"] });
    await redis("PUBLISH", "theirs", '{"a":"123"}');

    expect(JSON.parse(reply)).toEqual(["k", "123", "1e3"]);
    await vi.waitFor(() => expect(heard).toEqual(['{"a":"123"}']), 5000);
  });
});

test("what Redis says in the middle of its work is not taken for a mistake of ours", () => {
  const busy = [
    "BUSY Redis is busy",
    "LOADING Redis is loading",
    "CLUSTERDOWN x",
    "ERR Script killed by user",
    "MISCONF x",
    "ERR max number of clients reached",
    // These of Upstash.
    "ERR max concurrent connections exceeded",
    "ERR max daily request limit exceeded. Limit: 10000, Usage: 10000",
    "ERR max requests limit exceeded",
  ];
  for (const message of busy) expect(replyError(message)).toMatchObject({ code: "busy", isPassing: true });
  expect(replyError("ERR DB capacity quota exceeded")).toMatchObject({ code: "full", isPassing: true });
  for (const message of ["NOAUTH x", "NOPERM x", "Unauthorized"]) expect(replyError(message).code).toBe("forbidden");
  expect(replyError("WRONGTYPE x")).toMatchObject({ code: "broken", isPassing: false });
});

test("what a Redis before 7 says of itself within the error of a script is known as well", () => {
  const within = (said: string): string =>
    replyError(`ERR Error running script (call to f_1f): @user_script:7: @user_script: 7: -${said}`).code;
  expect(within("OOM command not allowed when used memory > 'maxmemory'.")).toBe("full");
  expect(within("READONLY You can't write against a read only replica.")).toBe("replica");
  expect(within("MISCONF Redis is configured to save RDB snapshots")).toBe("busy");
  expect(within("WRONGTYPE Operation against a key")).toBe("broken");
});

test("no error repeats what was sent", () => {
  expect(replyError(`ERR x, command was: ["EVAL","${SECRET}"]`).message).toBe("Redis answered: ERR x");
  expect(silence(new Error(`connect to redis://:${SECRET}@h`)).message).toBe("Redis cannot be reached: Error");
  expect(silence(Object.assign(new Error(SECRET), { code: "ECONNRESET" })).message).toBe(
    "Redis cannot be reached: ECONNRESET",
  );
});

test("a Redis that tells nothing of itself is taken as it is", () => {
  expect(inspected("")).toEqual({ durable: true });
  expect(inspected("aof_enabled:0\r\nrole:master\r\nmaxmemory_policy:noeviction\r\n")).toEqual({ durable: false });
});
