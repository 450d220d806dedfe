import { describe, expect, test } from "vitest";
import {
  AccessDeniedError,
  LatchkeyError,
  LimitError,
  LockLostError,
  LockTimeoutError,
  RefusedError,
  UnavailableError,
} from "../../src/client/index.ts";
import { beat, connected, grantOf, greet, held, scripted } from "./support/scripted-server.ts";
import { outcome, settle } from "./support/virtual-time.ts";

describe("acquire", () => {
  test("sends what was asked and gives the lock that was granted", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", {
      timeout: 5_000,
      ttl: 30_000,
      mode: "shared",
      limit: 3,
      meta: { user: "ada" },
    });
    const { id, ...frame } = server.end().one("acquire");
    expect(frame).toEqual({
      t: "acquire",
      key: "a",
      timeout: 5_000,
      ttl: 30_000,
      mode: "shared",
      limit: 3,
      meta: { user: "ada" },
    });
    await server.end().say({ t: "queued", id, ticket: 7, position: 1 });
    expect(await outcome(acquiring)).toBe("pending");
    await server
      .end()
      .say(grantOf(id, "a", { mode: "shared", fence: 12, token: "secret", ttl: 30_000, expires_in: 30_000 }));
    expect(await acquiring).toMatchObject({ key: "a", mode: "shared", fence: 12, token: "secret" });
  });

  test("with something that is no JSON rejects, with and without a connection, and disturbs nothing else", async () => {
    const server = await scripted();
    const early = server.client.acquire("a", { meta: 1n });
    await greet(server);
    expect(server.end().sent()).toEqual([]);
    expect(await outcome(early)).toBeInstanceOf(TypeError);
    expect(await outcome(server.client.acquire("a", { meta: 1n }))).toBeInstanceOf(TypeError);
    expect((await held(server, "b")).key).toBe("b");
    await beat(server, 30_000);
    expect(server.client.connection).toBe("connected");
  });

  test("takes any string for a key, also a lone surrogate", async () => {
    const server = await connected();
    server.client.acquire("\uD800").catch(() => undefined);
    expect(server.end().one("acquire")["key"]).toBe("\uD800");
  });

  test("waits for the connection, and is sent in the order of the calls", async () => {
    const server = await scripted();
    server.client.acquire("a").catch(() => undefined);
    server.client.acquire("b").catch(() => undefined);
    await greet(server);
    expect(server.end().sent()).toMatchObject([
      { t: "acquire", key: "a" },
      { t: "acquire", key: "b" },
    ]);
  });

  test("sends the time that is left when it had to wait for the connection", async () => {
    const server = await scripted();
    server.client.acquire("a", { timeout: 5_000 }).catch(() => undefined);
    await server.time.advance(1_500);
    await greet(server);
    expect(server.end().one("acquire")["timeout"]).toBe(3_500);
  });

  test("rejects in time when there is no connection", async () => {
    const server = await scripted();
    const acquiring = server.client.acquire("a", { timeout: 3_000 });
    await server.time.advance(2_999);
    expect(await outcome(acquiring)).toBe("pending");
    await server.time.advance(1);
    expect(await outcome(acquiring)).toBeInstanceOf(LockTimeoutError);
    await greet(server);
    expect(server.end().sent()).toEqual([]);
  });

  test("rejects when the server says that the wait is over", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", { timeout: 3_000 });
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "queued", id, ticket: 7, position: 1 }, { t: "timeout", id });
    const error = await outcome(acquiring);
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ code: "timeout", retryable: true, key: "a" });
  });

  test("prefers the server's word on a timeout, but does not wait for it for ever", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", { timeout: 3_000 });
    const { id } = server.end().one("acquire");
    await server.time.advance(4_999);
    expect(await outcome(acquiring)).toBe("pending");
    await server.time.advance(1);
    expect(await outcome(acquiring)).toBeInstanceOf(LockTimeoutError);
    expect(server.end().sent()).toEqual([{ t: "cancel", id }]);
  });

  test("does not wait for the server's word any more when the connection is lost", async () => {
    const server = await connected({ grace: 60_000 });
    const acquiring = server.client.acquire("a", { timeout: 3_000 });
    await server.time.advance(3_500);
    expect(await outcome(acquiring)).toBe("pending");
    await server.end().drop();
    await server.time.advance(0);
    expect(await outcome(acquiring)).toBeInstanceOf(LockTimeoutError);
  });

  test("that was granted just in time by the server is a lock", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", { timeout: 3_000 });
    const { id } = server.end().one("acquire");
    await server.time.advance(3_100);
    await server.end().say(grantOf(id, "a"));
    expect(await outcome(acquiring)).toMatchObject({ key: "a" });
  });

  test("whose wait is ended by an operator is not a lock that was lost", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a");
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "lost", id, key: "a", reason: "revoked" });
    const error = await outcome(acquiring);
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ code: "revoked", retryable: true });
  });

  test.each([
    ["limit", LimitError, { limit: "keys", retryAfterMs: 1_000, retryable: true }],
    ["limit_mismatch", RefusedError, { retryable: true }],
    ["bad_request", RefusedError, { retryable: false }],
    ["forbidden", AccessDeniedError, {}],
    ["unavailable", UnavailableError, { retryable: true }],
  ] as const)("refused with %s is one error of its own kind", async (code, kind, members) => {
    const server = await connected();
    const acquiring = server.client.acquire("a");
    const { id } = server.end().one("acquire");
    const retryable = code === "limit_mismatch";
    await server.end().say({ t: "refused", id, code, detail: "no", retryable, limit: "keys", retry_after_ms: 1_000 });
    const error = await outcome(acquiring);
    expect(error).toBeInstanceOf(kind);
    expect(error).toBeInstanceOf(LatchkeyError);
    expect(error).toMatchObject({ code, ...members });
  });

  test("refused by a draining server goes to the next one", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a");
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "refused", id, code: "draining", detail: "bye", retryable: true });
    await server.end().say({ t: "draining", retry_after_ms: 10 });
    await server.end().drop(1012);
    await server.time.advance(10);
    await greet(server, { session: "session-2" });
    expect(server.end().one("acquire")).toMatchObject({ key: "a" });
    expect(await outcome(acquiring)).toBe("pending");
  });

  test("that waits when the connection is lost queues anew in the next session, with the time that is left", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", { timeout: 20_000 });
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "queued", id, ticket: 1, position: 1 });
    await server.time.advance(3_000);
    await server.end().drop();
    await server.time.advance(1_000);
    await greet(server, { session: "session-2" });
    const again = server.end().one("acquire");
    expect(again).toMatchObject({ key: "a" });
    expect(again["timeout"]).toBe(16_000);
    await server.end().say(grantOf(again.id, "a"));
    expect(await outcome(acquiring)).toMatchObject({ key: "a" });
  });

  test("that waits is not ended by the loss of its session, which the server may tell first", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a");
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "lost", id, key: "a", reason: "dropped" });
    await server.end().drop(4410);
    await server.time.advance(1_000);
    await greet(server, { session: "session-2" });
    expect(server.end().one("acquire")).toMatchObject({ key: "a" });
    expect(await outcome(acquiring)).toBe("pending");
  });
});

describe("tryAcquire", () => {
  test("asks only whether the key is free now, and gives null when it is not", async () => {
    const server = await connected();
    const trying = server.client.tryAcquire("a");
    const { id, timeout } = server.end().one("acquire");
    expect(timeout).toBe(0);
    await server.end().say({ t: "timeout", id });
    expect(await outcome(trying)).toBeNull();
  });

  test("gives the lock when it is free", async () => {
    const server = await connected();
    const trying = server.client.tryAcquire("a");
    await server.end().say(grantOf(server.end().one("acquire").id, "a"));
    expect(await outcome(trying)).toMatchObject({ key: "a" });
  });

  test("waits for the connection, and rejects when none can be made: that is not the same as not free", async () => {
    const server = await scripted();
    const trying = server.client.tryAcquire("a");
    await server.time.advance(9_999);
    expect(await outcome(trying)).toBe("pending");
    await server.time.advance(1);
    expect(await outcome(trying)).toBeInstanceOf(UnavailableError);
  });
});

describe("the caller's signal", () => {
  test("that was aborted before wins, and nothing is sent", async () => {
    const server = await connected();
    const reason = new Error("no");
    expect(await outcome(server.client.acquire("a", { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(server.end().sent()).toEqual([]);
  });

  test("that is aborted in the tick of the call wins, although the key is free", async () => {
    const server = await connected();
    const stop = new AbortController();
    const acquiring = server.client.acquire("a", { signal: stop.signal });
    stop.abort(new Error("changed my mind"));
    const [acquire, cancel] = server.end().sent() as { t: string; id: string }[];
    expect(cancel).toEqual({ t: "cancel", id: acquire?.id });
    await server.end().say(grantOf(String(acquire?.id), "a"), { t: "cancelled", id: String(acquire?.id) });
    expect(await outcome(acquiring)).toEqual(new Error("changed my mind"));
  });

  test("rejects the wait at once with its reason and tells the server", async () => {
    const server = await connected();
    const stop = new AbortController();
    const acquiring = server.client.acquire("a", { signal: stop.signal });
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "queued", id, ticket: 1, position: 1 });
    stop.abort("any value");
    expect(server.end().sent()).toEqual([{ t: "cancel", id }]);
    expect(await outcome(acquiring)).toBe("any value");
  });

  test("that crosses the grant: the grant is answered with a release", async () => {
    const server = await connected();
    const stop = new AbortController();
    const acquiring = server.client.acquire("a", { signal: stop.signal });
    const { id } = server.end().one("acquire");
    stop.abort(new Error("no"));
    server.end().sent();
    await server.end().say(grantOf(id, "a", { token: "unwanted" }));
    expect(server.end().one("release")).toMatchObject({ key: "a", token: "unwanted" });
    expect(await outcome(acquiring)).toEqual(new Error("no"));
  });

  test("before the acquire was sent leaves nothing to send", async () => {
    const server = await scripted();
    const stop = new AbortController();
    const acquiring = server.client.acquire("a", { signal: stop.signal });
    stop.abort(new Error("no"));
    await greet(server);
    expect(server.end().sent()).toEqual([]);
    expect(await outcome(acquiring)).toEqual(new Error("no"));
  });

  test("means nothing any more once the lock is granted", async () => {
    const server = await connected();
    const stop = new AbortController();
    const lock = await held(server, "a", { signal: stop.signal });
    stop.abort(new Error("late"));
    await settle();
    expect(lock.signal.aborted).toBe(false);
    expect(server.end().sent()).toEqual([]);
  });

  test("keeps no listener when the acquire is settled", async () => {
    const server = await connected();
    const stop = new AbortController();
    let listeners = 0;
    const counted = (name: "addEventListener" | "removeEventListener", by: number): void => {
      const original = stop.signal[name].bind(stop.signal);
      stop.signal[name] = (...args: unknown[]) => {
        if (args[0] === "abort") listeners += by;
        Reflect.apply(original, stop.signal, args);
      };
    };
    counted("addEventListener", 1);
    counted("removeEventListener", -1);
    await held(server, "a", { signal: stop.signal });
    expect(listeners).toBe(0);
    const closing = server.client.close();
    await outcome(server.client.acquire("a", { signal: stop.signal }));
    expect(listeners).toBeLessThanOrEqual(0);
    await server.time.advance(1_000);
    await closing;
  });
});

describe("a grant", () => {
  test("that is told twice is one lock", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a");
    const { id } = server.end().one("acquire");
    const grant = grantOf(id, "a");
    await server.end().say(grant, grant);
    const lock = await acquiring;
    expect(server.end().sent()).toEqual([]);
    expect(lock.signal.aborted).toBe(false);
  });

  test("that nobody asked for is let go", async () => {
    const server = await connected();
    await server.end().say(grantOf("stray", "a", { token: "stray token" }));
    expect(server.end().one("release")).toMatchObject({ key: "a", token: "stray token" });
  });
});

describe("reads", () => {
  test("status gives who holds and how many wait, in the client's words", async () => {
    const server = await connected();
    const asking = server.client.status("a");
    const { id } = server.end().one("status");
    const holder = { session: "s", mode: "exclusive", fence: 3, since: 1_700_000_000, meta: 1 } as const;
    await server.end().say({
      t: "status",
      id,
      key: "a",
      status: "held",
      holders: [{ ...holder, expires_in: 500 }, holder],
      waiting: 2,
    });
    expect(await asking).toEqual({
      key: "a",
      status: "held",
      holders: [{ ...holder, expiresIn: 500 }, holder],
      waiting: 2,
    });
  });

  test("list gives a page and where the next begins", async () => {
    const server = await connected();
    const asking = server.client.list({ prefix: "a", count: 1 });
    const { id, ...frame } = server.end().one("list");
    expect(frame).toEqual({ t: "list", prefix: "a", count: 1 });
    const key = { key: "a1", status: "free", holders: [], waiting: 0, limit: 2 } as const;
    await server.end().say({ t: "list", id, keys: [key], next: "a1" });
    expect(await asking).toEqual({ keys: [key], next: "a1" });
  });

  test("are asked again after a reconnect, and fail when there is no answer in time", async () => {
    const server = await connected();
    const asking = server.client.status("a");
    server.end().sent();
    await server.end().drop();
    await server.time.advance(1_000);
    await greet(server);
    expect(server.end().one("status")).toMatchObject({ key: "a" });
    await server.time.advance(9_000);
    expect(await outcome(asking)).toBeInstanceOf(UnavailableError);
  });
});

describe("raw tokens", () => {
  test("are extended and released, wherever they came from", async () => {
    const server = await connected();
    const extending = server.client.extend("a", "token", 5_000);
    const extend = server.end().one("extend");
    expect(extend).toMatchObject({ key: "a", token: "token", ttl: 5_000 });
    await server.end().say({ t: "extended", id: extend.id, key: "a", fence: 9, ttl: 5_000, expires_in: 4_990 });
    expect(await extending).toEqual({ fence: 9, ttl: 5_000, expiresIn: 4_990 });

    const releasing = server.client.release("a", "token");
    const release = server.end().one("release");
    await server.end().say({ t: "released", id: release.id, depth: 1 });
    expect(await releasing).toEqual({ depth: 1, already: false });
  });

  test("that hold no more are told as lost", async () => {
    const server = await connected();
    const extending = server.client.extend("a", "token", 5_000);
    await server
      .end()
      .say({ t: "lost", id: server.end().one("extend").id, key: "a", reason: "stolen", by: { session: "s" } });
    expect(await outcome(extending)).toMatchObject({ reason: "stolen", by: { session: "s" } });

    const releasing = server.client.release("a", "token");
    const { id } = server.end().one("release");
    await server.end().say({ t: "refused", id, code: "unknown_token", detail: "no such token", retryable: false });
    const error = await outcome(releasing);
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ reason: "unknown" });
  });

  test("of a lock of this client end that lock", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const releasing = server.client.release("a", lock.token);
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 0 });
    await releasing;
    expect(lock.signal.aborted).toBe(true);
    expect(await outcome(lock.lost)).toMatchObject({ reason: "released" });
  });
});

test("no error shows a token or a credential", async () => {
  const server = await connected({ auth: "api-key-1" });
  const lock = await held(server, "a", {}, { token: "secret-token" });
  const extending = lock.extend(1_000);
  server.end().sent();
  await server.end().say({ t: "lost", id: lock.id, key: "a", reason: "expired" });
  const texts = [await outcome(extending), lock.signal.reason].map(
    (error) => `${String(error)} ${JSON.stringify(error)}`,
  );
  for (const text of texts) {
    expect(text).toContain("lost");
    expect(text).not.toContain("secret-token");
    expect(text).not.toContain("api-key-1");
  }
});
