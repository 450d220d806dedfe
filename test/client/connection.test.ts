import { describe, expect, test, vi } from "vitest";
import { SessionClosedError } from "../../src/client/index.ts";
import { addressOf } from "../../src/client/url.ts";
import { FATAL_CLOSE_CODES } from "../../src/protocol/close.ts";
import { beat, connected, greet, held, scripted, welcome } from "./support/scripted-server.ts";
import { outcome, settle } from "./support/virtual-time.ts";

describe("the address", () => {
  test.each([
    ["http://host", "ws://host/v1/session"],
    ["https://host/", "wss://host/v1/session"],
    ["ws://host:8080/v1/session", "ws://host:8080/v1/session"],
    ["wss://host/locks/", "wss://host/locks/v1/session"],
    ["https://host/locks/v1/session/?ticket=x#top", "wss://host/locks/v1/session?ticket=x"],
  ])("%s is opened as %s", (url, session) => {
    expect(addressOf(url, "ws", "/v1/session").href).toBe(session);
  });

  test("over HTTP is the same one with another scheme", () => {
    expect(addressOf("wss://host/locks/v1/session", "http", "/v1/latch/a%2Fb").href).toBe(
      "https://host/locks/v1/latch/a%2Fb",
    );
  });

  test("that is none is told at once", async () => {
    await expect(scripted({}, "nowhere")).rejects.toThrow(TypeError);
  });
});

describe("hello", () => {
  test("is sent when the socket is open, with the subprotocol offered and what was asked for", async () => {
    const server = await scripted({ auth: "key-1", space: "shop", grace: 20_000, meta: { user: "ada" } });
    expect(server.end().url).toBe("wss://latchkey.test/v1/session?space=shop");
    expect(server.end().protocols).toEqual(["latchkey.v1"]);
    expect(server.end().texts).toEqual([]);
    await server.end().open();
    expect(server.end().sent()).toEqual([
      { t: "hello", v: 1, space: "shop", auth: "key-1", grace: 20_000, meta: { user: "ada" } },
    ]);
  });

  test("gets a fresh credential for each attempt", async () => {
    let asked = 0;
    const server = await scripted({ auth: () => Promise.resolve(`key-${++asked}`) });
    await server.end().open();
    expect(server.end().one("hello")["auth"]).toBe("key-1");
    await server.end().drop();
    await server.time.advance(1_000);
    await server.end().open();
    expect(server.end().one("hello")["auth"]).toBe("key-2");
  });

  test("waits for a credential that could not be got, and tells of it", async () => {
    let asked = 0;
    const auth = (): string => {
      if (++asked === 1) throw new Error("token endpoint is down");
      return "key";
    };
    const server = await scripted({ auth });
    expect(server.ends).toHaveLength(0);
    expect(server.errors).toEqual([{ error: new Error("token endpoint is down"), where: "connect" }]);
    await server.time.advance(1_000);
    expect(server.ends).toHaveLength(1);
  });

  test("is not disturbed by a credential of an attempt that was given up, whether it comes late or not at all", async () => {
    const asked: { give: (key: string) => void; fail: (error: Error) => void }[] = [];
    const auth = (): Promise<string> => new Promise((give, fail) => asked.push({ give, fail }));
    const server = await scripted({ auth, reconnect: { timeoutMs: 1_000 } });
    await server.time.advance(1_200);
    await server.time.advance(1_400);
    expect(asked).toHaveLength(3);
    asked[0]?.fail(new Error("too late"));
    asked[1]?.give("too late");
    await settle();
    expect(server.ends).toHaveLength(0);
    asked[2]?.give("key-3");
    await settle();
    await greet(server);
    expect(server.client.connection).toBe("connected");
    expect(server.ends).toHaveLength(1);
  });

  test("is answered by a welcome, and the client is ready", async () => {
    const server = await scripted();
    expect(server.client.connection).toBe("connecting");
    expect(await outcome(server.client.ready)).toBe("pending");
    await greet(server);
    expect(await outcome(server.client.ready)).toBeUndefined();
    expect(server.client.connection).toBe("connected");
    expect(server.client.session).toBe("session-1");
  });
});

describe("the heartbeat", () => {
  test("answers ping with pong in the message handler", async () => {
    const { end } = await connected();
    await end().say("ping");
    expect(end().sent()).toEqual(["pong"]);
  });

  test("that is answered keeps the connection for as long as you like", async () => {
    const server = await connected();
    await beat(server, 120_000);
    expect(server.ends).toHaveLength(1);
    expect(server.client.connection).toBe("connected");
  });

  test("without acks means that the connection is dead: a new one is made, whatever the socket says", async () => {
    const server = await connected();
    await server.time.advance(13_499);
    expect(server.client.connection).toBe("connected");
    await server.time.advance(1);
    expect(server.client.connection).toBe("reconnecting");
    expect(server.ends[0]?.closedWith).toEqual({ code: undefined });
    await server.time.advance(1_000);
    expect(server.ends).toHaveLength(2);
  });

  test("pings alone are no life: what the server sends says nothing about what it hears", async () => {
    const server = await connected();
    for (let beats = 0; beats < 3; beats++) {
      await server.time.advance(4_500);
      await server.end().say("ping");
    }
    expect(server.client.connection).toBe("reconnecting");
  });

  test("of 0 ms deadline is none: a socket within the process cannot vanish without a close", async () => {
    const server = await connected({}, { ping: 0, deadline: 0 });
    await server.time.advance(3_600_000);
    expect(server.client.connection).toBe("connected");
  });
});

describe("a lost connection", () => {
  test("is made again after a wait with full jitter that grows with each failure", async () => {
    const server = await scripted();
    server.time.chance = 1;
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 8; attempt++) {
      const attempts = server.ends.length;
      await server.end().drop();
      let wait = 0;
      while (server.ends.length === attempts) {
        await server.time.advance(50);
        wait += 50;
      }
      waits.push(wait);
    }
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  });

  test("that had opened and closed at once is one more failure", async () => {
    const server = await scripted();
    server.time.chance = 1;
    for (const wait of [250, 500, 1_000]) {
      await greet(server);
      await server.end().drop();
      const attempts = server.ends.length;
      await server.time.advance(wait - 1);
      expect(server.ends).toHaveLength(attempts);
      await server.time.advance(1);
      expect(server.ends).toHaveLength(attempts + 1);
    }
  });

  test("that had been up for some seconds starts the waits from the beginning", async () => {
    const server = await scripted();
    server.time.chance = 1;
    await server.end().drop();
    await server.time.advance(250);
    await server.end().drop();
    await server.time.advance(500);
    await greet(server);
    await server.time.advance(5_000);
    await server.end().drop();
    await server.time.advance(250);
    expect(server.ends).toHaveLength(4);
  });

  test("is told as a status", async () => {
    const server = await connected();
    await server.end().drop();
    await server.time.advance(1_000);
    await greet(server);
    const closing = server.client.close();
    await settle();
    expect(server.statuses).toEqual(["connected", "reconnecting", "connected", "closed"]);
    await server.end().drop(1000);
    await closing;
  });

  test("is told to each who subscribed, until they end it, also when one of them throws", async () => {
    const server = await scripted();
    const thrown: unknown[] = [];
    // What is thrown in a turn of its own is nobody's but the platform's.
    vi.stubGlobal("queueMicrotask", (run: () => void) => {
      Promise.resolve()
        .then(run)
        .catch((error: unknown) => thrown.push(error));
    });
    const told: string[] = [];
    server.client.subscribe(() => {
      throw new Error("mine");
    });
    const stop = server.client.subscribe(() => told.push(`one ${server.client.connection}`));
    server.client.subscribe(() => {
      told.push(`two ${server.client.connection}`);
      stop();
    });
    server.client.subscribe(() => told.push(`three ${server.client.connection}`));
    await greet(server);
    const closing = server.client.close();
    await settle();
    await server.end().drop(1000);
    await closing;
    vi.unstubAllGlobals();
    expect(thrown).toHaveLength(2);
    expect(told).toEqual(["one connected", "two connected", "three connected", "two closed", "three closed"]);
  });

  test("is made again after what a draining server said", async () => {
    const server = await connected();
    server.time.chance = 0;
    await server.end().say({ t: "draining", retry_after_ms: 3_000 });
    await server.end().drop(1012);
    await server.time.advance(2_999);
    expect(server.ends).toHaveLength(1);
    await server.time.advance(1);
    expect(server.ends).toHaveLength(2);
    // That was for once.
    await server.end().drop();
    await server.time.advance(1);
    expect(server.ends).toHaveLength(3);
  });

  test.each([1013, 4429, 4500])("with code %i is made again late", async (code) => {
    const server = await connected();
    server.time.chance = 0;
    await server.end().drop(code);
    await server.time.advance(4_999);
    expect(server.ends).toHaveLength(1);
    await server.time.advance(1);
    expect(server.ends).toHaveLength(2);
  });

  test.each([...FATAL_CLOSE_CODES])("with code %i is not made again", async (code) => {
    const server = await connected();
    await server.end().say({ t: "error", code: "forbidden", detail: "not here" });
    await server.end().drop(code);
    await server.time.advance(60_000);
    expect(server.ends).toHaveLength(1);
    expect(server.client.connection).toBe("closed");
    const error = await outcome(server.client.acquire("a"));
    expect(error).toBeInstanceOf(SessionClosedError);
    expect(error).toMatchObject({ closeCode: code, retryable: false, code: "session_closed" });
    expect(String(error)).toContain("not here");
  });

  test("before the first welcome with a fatal code rejects ready", async () => {
    const server = await scripted({ auth: "wrong" });
    await server.end().open();
    await server.end().drop(4401);
    expect(await outcome(server.client.ready)).toMatchObject({ closeCode: 4401 });
  });

  test("is noticed when the attempt takes too long, and that socket is not heard any more", async () => {
    const server = await scripted({ reconnect: { timeoutMs: 4_000 } });
    await server.time.advance(4_000);
    expect(server.ends[0]?.closedWith).toEqual({ code: undefined });
    await server.time.advance(1_000);
    expect(server.ends).toHaveLength(2);
    await server.ends[0]?.open();
    expect(server.ends[0]?.texts).toEqual([]);
  });

  test("is noticed when hello is not answered", async () => {
    const server = await scripted({ reconnect: { timeoutMs: 4_000 } });
    await server.end().open();
    await server.time.advance(5_000);
    expect(server.ends).toHaveLength(2);
  });

  test("is assumed when a frame cannot be read", async () => {
    const server = await connected();
    await server.end().say("{");
    expect(server.client.connection).toBe("reconnecting");
    expect(server.errors).toMatchObject([{ where: "session" }]);
  });

  test("late words of the old socket change nothing", async () => {
    const server = await connected();
    const old = server.end();
    await server.time.advance(13_500);
    await server.time.advance(1_000);
    await greet(server, { session: "session-2" });
    const lock = await held(server, "a");
    await old.say({ t: "lost", id: lock.id, key: "a", reason: "expired" });
    await old.drop(4409);
    expect(lock.signal.aborted).toBe(false);
    expect(server.client.connection).toBe("connected");
  });

  test("is none when the server only complains of a frame, which onError hears of", async () => {
    const server = await connected();
    await server.end().say({ t: "error", code: "bad_request", detail: "a frame without an id" });
    expect(server.client.connection).toBe("connected");
    expect(server.errors).toMatchObject([{ error: { code: "bad_request" }, where: "session" }]);
  });

  test("unknown frames are ignored", async () => {
    const server = await connected();
    await server.end().say('{"t":"news","id":"1"}', '{"t":"news"}');
    expect(server.client.connection).toBe("connected");
  });
});

describe("close", () => {
  test("says bye, closes with 1000 and rejects what waits", async () => {
    const server = await connected();
    const waiting = server.client.acquire("a");
    const asking = server.client.status("a");
    server.end().sent();
    const closing = server.client.close();
    expect(server.end().sent()).toEqual([{ t: "bye" }]);
    expect(server.end().closedWith).toEqual({ code: 1000 });
    expect(await outcome(waiting)).toBeInstanceOf(SessionClosedError);
    expect(await outcome(asking)).toBeInstanceOf(SessionClosedError);
    expect(await outcome(closing)).toBe("pending");
    await server.end().drop(1000);
    expect(await outcome(closing)).toBeUndefined();
    expect(server.time.timers).toBe(0);
  });

  test("tells the work under a lock before the server hears of it", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    let sentBefore = -1;
    lock.signal.addEventListener("abort", () => {
      sentBefore = server.end().texts.length;
    });
    const closing = server.client.close();
    expect(sentBefore).toBe(0);
    expect(await outcome(lock.lost)).toMatchObject({ reason: "closed" });
    await server.end().drop(1000);
    await closing;
  });

  test("does not wait for a socket that never closes", async () => {
    const server = await connected();
    const closing = server.client.close();
    await server.time.advance(1_000);
    expect(await outcome(closing)).toBeUndefined();
  });

  test("twice is once", async () => {
    const server = await connected();
    expect(server.client.close()).toBe(server.client.close());
    expect(server.client.session).toBeUndefined();
    expect(server.end().sent()).toEqual([{ t: "bye" }]);
  });

  test("while connecting gives the socket up", async () => {
    const server = await scripted();
    const waiting = server.client.acquire("a");
    const closing = server.client.close();
    expect(server.end().closedWith).toEqual({ code: 1000 });
    expect(await outcome(waiting)).toBeInstanceOf(SessionClosedError);
    expect(await outcome(server.client.ready)).toBeInstanceOf(SessionClosedError);
    await server.end().open();
    expect(server.end().texts).toEqual([]);
    await server.end().drop();
    await closing;
    await server.time.advance(60_000);
    expect(server.ends).toHaveLength(1);
  });

  test("while the credential is got opens no socket", async () => {
    let give: (key: string) => void = () => undefined;
    const server = await scripted({ auth: () => new Promise((resolve) => (give = resolve)) });
    const closing = server.client.close();
    give("key");
    await settle();
    expect(server.ends).toHaveLength(0);
    await closing;
  });

  test("comes with the end of a scope, and with a signal", async () => {
    const first = await connected();
    {
      await using client = first.client;
      first.time.advance(2_000).catch(() => undefined);
      expect(client.connection).toBe("connected");
    }
    expect(first.client.connection).toBe("closed");

    const stop = new AbortController();
    const second = await connected({ signal: stop.signal });
    stop.abort();
    expect(second.client.connection).toBe("closed");
    expect(second.end().sent()).toEqual([{ t: "bye" }]);

    const third = await scripted({ signal: AbortSignal.abort() });
    expect(third.client.connection).toBe("closed");
    expect(third.ends).toHaveLength(0);
  });

  test("refuses what is asked later", async () => {
    const server = await connected();
    const closing = server.client.close();
    for (const asked of [
      server.client.acquire("a"),
      server.client.tryAcquire("a"),
      server.client.status("a"),
      server.client.release("a", "token"),
    ]) {
      expect(await outcome(asked)).toBeInstanceOf(SessionClosedError);
    }
    await server.end().drop(1000);
    await closing;
  });

  test("a second welcome changes nothing", async () => {
    const server = await connected();
    await server.end().say(welcome({ session: "other" }));
    expect(server.client.session).toBe("session-1");
  });
});
