import { describe, expect, test } from "vitest";
import {
  AccessDeniedError,
  LimitError,
  type Lock,
  LockLostError,
  LockTimeoutError,
  RefusedError,
  UnavailableError,
} from "../../src/client/index.ts";
import type { HttpAcquireOptions } from "../../src/client/http.ts";
import { acquired, type ScriptedHttp, scriptedHttp } from "./support/scripted-http.ts";
import { outcome, settle } from "./support/virtual-time.ts";

async function held(http: ScriptedHttp, options: HttpAcquireOptions = {}, members = {}): Promise<Lock> {
  const acquiring = http.client.acquire("a", options);
  await settle();
  await http.one().answer(acquired(members));
  return acquiring;
}

describe("acquire over HTTP", () => {
  test("sends what was asked under a request id, and gives the lock", async () => {
    const http = scriptedHttp({ auth: () => Promise.resolve("key-1"), space: "shop" }, "wss://host/base/v1/session");
    const acquiring = http.client.acquire("doc/1", { timeout: 5_000, ttl: 20_000, mode: "shared", limit: 2, meta: 1 });
    await settle();
    const sent = http.one();
    expect(sent.url).toBe("https://host/base/v1/latch/doc%2F1/acquire?space=shop");
    expect(sent.method).toBe("POST");
    expect(sent.headers.get("authorization")).toBe("Bearer key-1");
    const { request_id: id, ...body } = sent.body;
    expect(body).toEqual({ timeout: 5_000, ttl: 20_000, mode: "shared", limit: 2, meta: 1, on_timeout: "ok" });
    expect(String(id).length).toBeGreaterThan(20);
    await sent.answer(acquired({ key: "doc/1", mode: "shared", fence: 7 }));
    expect(await acquiring).toMatchObject({ key: "doc/1", mode: "shared", fence: 7, token: "token-1" });
  });

  test("whose answer was lost is sent again with the same id and the same body, so it never waits behind itself", async () => {
    const http = scriptedHttp();
    const acquiring = http.client.acquire("a", { timeout: 60_000 });
    await settle();
    const first = http.one();
    await http.time.advance(1_000);
    await first.fail();
    expect(http.errors).toMatchObject([{ error: { code: "unavailable" }, where: "http" }]);
    await http.time.advance(1_000);
    const second = http.one();
    expect(second.body).toEqual(first.body);
    await second.problem("unavailable", { retry_after_ms: 3_000 });
    await http.time.advance(2_999);
    expect(http.all).toHaveLength(2);
    await http.time.advance(1);
    const third = http.one();
    expect(third.body).toEqual(first.body);
    await third.answer(acquired());
    expect(await outcome(acquiring)).toMatchObject({ token: "token-1" });
  });

  test.each([500, 502, 503, 408])("answered with %i by something in between is sent again", async (status) => {
    const http = scriptedHttp();
    http.client.acquire("a").catch(() => undefined);
    await settle();
    const first = http.one();
    await first.respond(new Response("<html>", { status, headers: { "retry-after": "2" } }));
    await http.time.advance(1_999);
    expect(http.all).toHaveLength(1);
    await http.time.advance(1);
    expect(http.one().body).toEqual(first.body);
  });

  test.each([
    [401, AccessDeniedError, "unauthenticated"],
    [403, AccessDeniedError, "forbidden"],
    [429, LimitError, "limit"],
    [418, RefusedError, "http_418"],
  ] as const)("answered with %i by something in between is not", async (status, kind, code) => {
    const http = scriptedHttp();
    const acquiring = http.client.acquire("a");
    await settle();
    await http.one().respond(new Response("<html>", { status }));
    const error = await outcome(acquiring);
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ code });
  });

  test.each(["null", "1", "{", ""])("answered with %j is sent again", async (text) => {
    const http = scriptedHttp();
    http.client.acquire("a").catch(() => undefined);
    await settle();
    const first = http.one();
    await first.respond(new Response(text));
    await http.time.advance(1_000);
    expect(http.one().body).toEqual(first.body);
  });

  test("waits longer than the server lets one claim wait: one claim after another, each with an id of its own", async () => {
    const http = scriptedHttp();
    const acquiring = http.client.acquire("a");
    await settle();
    const first = http.one();
    expect(first.body["timeout"]).toBe(600_000);
    await http.time.advance(600_000);
    await first.answer({ status: "timeout" });
    const second = http.one();
    expect(second.body["timeout"]).toBe(600_000);
    expect(second.body["request_id"]).not.toBe(first.body["request_id"]);
    await second.answer(acquired());
    expect(await outcome(acquiring)).toMatchObject({ key: "a" });
  });

  test("sends what is left of a long wait", async () => {
    const http = scriptedHttp();
    http.client.acquire("a", { timeout: 700_000 }).catch(() => undefined);
    await settle();
    await http.time.advance(600_000);
    await http.one().answer({ status: "timeout" });
    expect(http.one().body["timeout"]).toBe(100_000);
  });

  test("rejects when the server says that the wait is over", async () => {
    const http = scriptedHttp();
    const acquiring = http.client.acquire("a", { timeout: 1_000 });
    await settle();
    await http.time.advance(1_000);
    await http.one().answer({ status: "timeout" });
    expect(await outcome(acquiring)).toBeInstanceOf(LockTimeoutError);
  });

  test("rejects in time when there is no answer, and hangs up so that the server drops the claim", async () => {
    const http = scriptedHttp();
    const acquiring = http.client.acquire("a", { timeout: 1_000 });
    await settle();
    await http.time.advance(2_999);
    expect(await outcome(acquiring)).toBe("pending");
    await http.time.advance(1);
    expect(await outcome(acquiring)).toBeInstanceOf(LockTimeoutError);
    expect(http.one().signal?.aborted).toBe(true);
    expect(http.time.timers).toBe(0);
  });

  test("says why when the time is over because the server could not be reached", async () => {
    const http = scriptedHttp();
    http.time.chance = 0.9;
    const acquiring = http.client.acquire("a", { timeout: 1_000 });
    await settle();
    while ((await outcome(acquiring)) === "pending") {
      await http.all.at(-1)?.fail();
      await http.time.advance(100);
    }
    const error = await outcome(acquiring);
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ cause: { code: "unavailable", cause: new TypeError("network") } });
  });

  test.each([
    ["limit", LimitError],
    ["limit_mismatch", RefusedError],
    ["unauthenticated", AccessDeniedError],
    ["request_mismatch", RefusedError],
  ] as const)("refused with %s is not sent again", async (code, kind) => {
    const http = scriptedHttp();
    const acquiring = http.client.acquire("a");
    await settle();
    await http.one().problem(code, { limit: "keys" });
    const error = await outcome(acquiring);
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ code });
    await http.time.advance(60_000);
    expect(http.all).toHaveLength(1);
  });

  test("keeps a credential that could not be got for the next attempt", async () => {
    let asked = 0;
    const http = scriptedHttp({
      auth: () => {
        if (++asked === 1) throw new Error("token endpoint is down");
        return "key";
      },
    });
    http.client.acquire("a").catch(() => undefined);
    await http.time.advance(1_000);
    expect(http.one().headers.get("authorization")).toBe("Bearer key");
  });
});

describe("the caller's signal over HTTP", () => {
  test("that was aborted before wins, and nothing is sent", async () => {
    const http = scriptedHttp();
    expect(await outcome(http.client.acquire("a", { signal: AbortSignal.abort("no") }))).toBe("no");
    expect(http.all).toHaveLength(0);
  });

  test("rejects at once with its reason, and hangs up so that the server drops the claim", async () => {
    const http = scriptedHttp();
    const stop = new AbortController();
    const acquiring = http.client.acquire("a", { signal: stop.signal });
    await settle();
    stop.abort(new Error("no"));
    expect(await outcome(acquiring)).toEqual(new Error("no"));
    expect(http.one().signal?.aborted).toBe(true);
    await http.time.advance(60_000);
    expect(http.all).toHaveLength(1);
  });

  test("ends a pause between two attempts", async () => {
    const http = scriptedHttp();
    const stop = new AbortController();
    const acquiring = http.client.acquire("a", { signal: stop.signal });
    await settle();
    await http.one().fail();
    stop.abort(new Error("no"));
    expect(await outcome(acquiring)).toEqual(new Error("no"));
    expect(http.time.timers).toBe(0);
  });

  test("that crosses the grant: the answer is read to its end, and the lock let go", async () => {
    const http = scriptedHttp();
    const stop = new AbortController();
    const acquiring = http.client.acquire("a", { signal: stop.signal });
    await settle();
    const sent = http.one();
    let finish: () => void = () => undefined;
    const body = new ReadableStream({
      start(controller) {
        finish = () => {
          controller.enqueue(new TextEncoder().encode(JSON.stringify(acquired({ token: "unwanted" }))));
          controller.close();
        };
      },
    });
    await sent.respond(new Response(body, { status: 200 }));
    stop.abort(new Error("no"));
    expect(await outcome(acquiring)).toEqual(new Error("no"));
    expect(sent.signal?.aborted).toBe(false);
    finish();
    while (http.all.length < 2) await new Promise((resolve) => setTimeout(resolve, 0));
    const release = http.one();
    expect(release.path).toBe("/v1/latch/a/release");
    expect(release.body).toMatchObject({ token: "unwanted" });
    await release.answer({ status: "released" });
  });

  test("that crosses the end of the wait leaves nothing to let go", async () => {
    const http = scriptedHttp();
    const stop = new AbortController();
    const acquiring = http.client.acquire("a", { signal: stop.signal });
    await settle();
    const sent = http.one();
    const answered = sent.answer({ status: "timeout" });
    stop.abort(new Error("no"));
    await answered;
    expect(await outcome(acquiring)).toEqual(new Error("no"));
    expect(http.all).toHaveLength(1);
  });

  test("means nothing any more once the lock is granted", async () => {
    const http = scriptedHttp();
    const stop = new AbortController();
    const lock = await held(http, { signal: stop.signal });
    stop.abort(new Error("late"));
    await settle();
    expect(lock.signal.aborted).toBe(false);
  });
});

describe("tryAcquire over HTTP", () => {
  test("gives null when the key is not free", async () => {
    const http = scriptedHttp();
    const trying = http.client.tryAcquire("a");
    await settle();
    const sent = http.one();
    expect(sent.body["timeout"]).toBe(0);
    await sent.answer({ status: "timeout" });
    expect(await outcome(trying)).toBeNull();
  });

  test("rejects when there is no answer: that is not the same as not free", async () => {
    const http = scriptedHttp();
    const trying = http.client.tryAcquire("a");
    await http.time.advance(10_000);
    expect(await outcome(trying)).toBeInstanceOf(UnavailableError);
  });
});

describe("the key over HTTP", () => {
  test.each([".", "..", "", "\uD800"])("%j cannot be sent, and is refused here", async (key) => {
    const http = scriptedHttp();
    for (const asked of [http.client.acquire(key), http.client.status(key), http.client.release(key, "token")]) {
      const error = await outcome(asked);
      expect(error).toBeInstanceOf(RefusedError);
      expect(error).toMatchObject({ code: "bad_key", retryable: false });
    }
    expect(http.all).toHaveLength(0);
  });

  test.each([
    ["a/../b", "a%2F..%2Fb"],
    ["%2e", "%252e"],
    ["?a#b", "%3Fa%23b"],
    ["\u{1F600}", "%F0%9F%98%80"],
  ])("%j arrives as it is", async (key, encoded) => {
    const http = scriptedHttp();
    http.client.status(key).catch(() => undefined);
    await settle();
    expect(http.one().url).toBe(`https://latchkey.test/v1/latch/${encoded}`);
  });

  test("a prefix with a lone surrogate is refused here too: it would find other keys", async () => {
    expect(await outcome(scriptedHttp().client.list({ prefix: "\uD800" }))).toMatchObject({ code: "bad_key" });
  });
});

describe("a lock over HTTP", () => {
  test("is lost before its lease, counted from when the acquire was sent", async () => {
    const http = scriptedHttp();
    const acquiring = http.client.acquire("a", { ttl: 10_000 });
    await settle();
    await http.time.advance(900);
    await http.one().answer(acquired({ ttl: 10_000, expires_in: 10_000 }));
    const lock = await acquiring;
    await http.time.advance(8_099);
    expect(lock.signal.aborted).toBe(false);
    await http.time.advance(1);
    expect(lock.signal.reason).toMatchObject({ code: "lost", reason: "expired" });
    expect(await outcome(lock.lost)).toMatchObject({ reason: "expired" });
    expect(http.time.timers).toBe(0);
  });

  test("after a wait is asked for once more, under the same id, and counts from that", async () => {
    const http = scriptedHttp();
    const acquiring = http.client.acquire("a", { ttl: 10_000 });
    await settle();
    await http.time.advance(60_000);
    const first = http.one();
    await first.answer(acquired({ ttl: 10_000, expires_in: 10_000 }));
    expect(await outcome(acquiring)).toBe("pending");
    const second = http.one();
    expect(second.body).toEqual(first.body);
    await http.time.advance(200);
    await second.answer(acquired({ ttl: 10_000, expires_in: 9_900 }));
    const lock = await acquiring;
    await http.time.advance(8_709);
    expect(lock.signal.aborted).toBe(false);
    await http.time.advance(1);
    expect(lock.signal.aborted).toBe(true);
  });

  test("whose grant lay in a buffer while the machine slept is not relied on: it is asked for anew", async () => {
    const http = scriptedHttp();
    const acquiring = http.client.acquire("a", { ttl: 10_000 });
    await settle();
    http.time.suspend(60_000);
    const first = http.one();
    await first.answer(acquired({ ttl: 10_000, expires_in: 10_000 }));
    await http.one().problem("lost", { reason: "expired" });
    const third = http.one();
    expect(third.body["request_id"]).not.toBe(first.body["request_id"]);
    expect(await outcome(acquiring)).toBe("pending");
    await third.answer(acquired({ ttl: 10_000, expires_in: 10_000 }));
    expect(await outcome(acquiring)).toMatchObject({ key: "a" });
  });

  test("that was given up while it was asked for once more is let go", async () => {
    const http = scriptedHttp();
    const stop = new AbortController();
    const acquiring = http.client.acquire("a", { signal: stop.signal });
    await settle();
    await http.time.advance(60_000);
    await http.one().answer(acquired({ token: "unwanted" }));
    http.one();
    stop.abort(new Error("no"));
    expect(await outcome(acquiring)).toEqual(new Error("no"));
    const release = http.one();
    expect(release.body).toMatchObject({ token: "unwanted" });
    await release.answer({ status: "released" });
  });

  test("whose grant took longer than the lease is none: it is let go", async () => {
    const http = scriptedHttp();
    const acquiring = http.client.acquire("a", { ttl: 1_000 });
    await settle();
    for (let answer = 0; answer < 2; answer++) {
      await http.time.advance(950);
      await http.one().answer(acquired({ ttl: 1_000, expires_in: 1_000, token: "late" }));
    }
    expect(await outcome(acquiring)).toMatchObject({ code: "lost", reason: "expired" });
    expect(http.one().body).toMatchObject({ token: "late" });
  });

  test("counts from the attempt that was answered, not from the first", async () => {
    const http = scriptedHttp();
    const acquiring = http.client.acquire("a", { ttl: 10_000 });
    await settle();
    await http.time.advance(3_000);
    await http.one().fail();
    await http.time.advance(125);
    await http.one().answer(acquired({ ttl: 10_000, expires_in: 10_000 }));
    const lock = await acquiring;
    await http.time.advance(8_999);
    expect(lock.signal.aborted).toBe(false);
  });

  test("is lost within a second after a suspend, and at once for code that looks", async () => {
    const http = scriptedHttp();
    const lock = await held(http);
    const other = await held(http, {}, { token: "token-2" });
    const aborted: string[] = [];
    lock.signal.addEventListener("abort", () => aborted.push("told"));
    http.time.suspend(60_000);
    expect(() => other.signal.throwIfAborted()).toThrow(LockLostError);
    await http.time.advance(1_000);
    expect(aborted).toEqual(["told"]);
  });

  test("is extended by its token, and goes on from when that was sent", async () => {
    const http = scriptedHttp();
    const lock = await held(http, {}, { ttl: 10_000, expires_in: 10_000 });
    await http.time.advance(5_000);
    const extending = lock.extend(20_000);
    await settle();
    const sent = http.one();
    expect(sent.path).toBe("/v1/latch/a/extend");
    expect(sent.body).toEqual({ token: "token-1", ttl: 20_000 });
    await http.time.advance(500);
    await sent.answer({ status: "extended", key: "a", token: "token-1", fence: 9, ttl: 20_000, expires_in: 20_000 });
    expect(await extending).toEqual({ fence: 9, ttl: 20_000, expiresIn: 20_000 });
    await http.time.advance(17_499);
    expect(lock.signal.aborted).toBe(false);
    await http.time.advance(1);
    expect(lock.signal.aborted).toBe(true);
  });

  test("is lost when the server says so", async () => {
    const http = scriptedHttp();
    const lock = await held(http);
    const extending = lock.extend();
    await settle();
    await http.one().problem("lost", { reason: "stolen" });
    expect(await outcome(extending)).toMatchObject({ code: "lost", reason: "stolen" });
    expect(lock.signal.reason).toMatchObject({ reason: "stolen" });
    expect(await outcome(lock.extend())).toMatchObject({ reason: "stolen" });
    expect(await outcome(lock.release())).toMatchObject({ reason: "stolen" });
    expect(http.all).toHaveLength(2);
  });

  test("is not lost because an extend got no answer", async () => {
    const http = scriptedHttp();
    const lock = await held(http);
    const extending = lock.extend();
    await http.time.advance(10_000);
    expect(await outcome(extending)).toBeInstanceOf(UnavailableError);
    expect(lock.signal.aborted).toBe(false);
  });

  test("is extended by what was asked last, when nothing else is said", async () => {
    const http = scriptedHttp();
    const lock = await held(http);
    const answer = async (ttl: number): Promise<void> => {
      await settle();
      const sent = http.one();
      expect(sent.body["ttl"]).toBe(ttl);
      await sent.answer({ status: "extended", fence: 1, ttl, expires_in: ttl });
    };
    lock.extend().catch(() => undefined);
    await answer(30_000);
    lock.extend(20_000).catch(() => undefined);
    await answer(20_000);
    lock.extend().catch(() => undefined);
    await answer(20_000);
  });

  test("is released once, and leaves no timer", async () => {
    const http = scriptedHttp();
    const lock = await held(http);
    const releasing = lock.release();
    lock.release().catch(() => undefined);
    await settle();
    const sent = http.one();
    expect(sent.path).toBe("/v1/latch/a/release");
    expect(sent.body).toMatchObject({ token: "token-1" });
    await sent.answer({ status: "released" });
    expect(await outcome(releasing)).toBeUndefined();
    expect(lock.signal.aborted).toBe(false);
    await http.time.advance(60_000);
    expect(lock.signal.aborted).toBe(false);
    expect(http.time.timers).toBe(0);
  });

  test("may be shortened as soon as the extend is sent", async () => {
    const http = scriptedHttp();
    const lock = await held(http);
    const aborted: string[] = [];
    lock.signal.addEventListener("abort", () => aborted.push("told"));
    lock.extend(500).catch(() => undefined);
    await http.time.advance(450);
    expect(aborted).toEqual(["told"]);
  });

  test("that is lost is not re-entered: the next acquire is one of its own", async () => {
    const http = scriptedHttp();
    await held(http, {}, { ttl: 1_000, expires_in: 1_000 });
    http.time.suspend(5_000);
    http.client.acquire("a", { reentrant: true }).catch(() => undefined);
    await settle();
    expect(http.one().body).not.toHaveProperty("token");
  });

  test("whose release got no answer may be released again, under the same id, so that it counts once", async () => {
    const http = scriptedHttp();
    const lock = await held(http);
    const releasing = lock.release();
    await settle();
    const first = http.one();
    await http.time.advance(10_000);
    expect(await outcome(releasing)).toBeInstanceOf(UnavailableError);
    const again = lock.release();
    await settle();
    const second = http.one();
    expect(second.body).toEqual(first.body);
    await second.answer({ status: "released", already: true });
    expect(await outcome(again)).toBeUndefined();
  });

  test("of somebody's session has no lease of its own", async () => {
    const http = scriptedHttp();
    const lock = await held(http, {}, { ttl: null, expires_in: null });
    await http.time.advance(3_600_000);
    expect(lock.signal.aborted).toBe(false);
    expect(http.time.timers).toBe(0);
    expect(await outcome(lock.extend())).toMatchObject({ code: "bad_request" });
  });
});

describe("renew", () => {
  const granted = { ttl: 9_000, expires_in: 9_000 };
  const extended = { status: "extended", fence: 1, ...granted };

  test("extends at a third of the lease, for as long as the lock is held", async () => {
    const http = scriptedHttp();
    const lock = await held(http, { renew: true, ttl: 9_000 }, granted);
    for (let renewal = 0; renewal < 20; renewal++) {
      await http.time.advance(2_999);
      expect(http.all).toHaveLength(renewal + 1);
      await http.time.advance(1);
      const sent = http.one();
      expect(sent.body).toEqual({ token: "token-1", ttl: 9_000 });
      await sent.answer(extended);
    }
    expect(lock.signal.aborted).toBe(false);
  });

  test("is not the default", async () => {
    const http = scriptedHttp();
    await held(http, { ttl: 9_000 }, granted);
    await http.time.advance(8_000);
    expect(http.all).toHaveLength(1);
  });

  test("tells onError of a failure that is not one of the way, and goes on", async () => {
    const http = scriptedHttp();
    const lock = await held(http, { renew: true }, granted);
    await http.time.advance(3_000);
    await http.one().problem("forbidden");
    expect(http.errors).toMatchObject([{ error: { code: "forbidden" }, where: "renew" }]);
    await http.time.advance(3_000);
    await http.one().answer(extended);
    expect(lock.signal.aborted).toBe(false);
  });

  test("has nothing to do where a session is the lease", async () => {
    const http = scriptedHttp();
    await held(http, { renew: true }, { ttl: null, expires_in: null });
    await http.time.advance(60_000);
    expect(http.all).toHaveLength(1);
  });

  test("goes on until the last of nested locks is released", async () => {
    const http = scriptedHttp();
    await held(http, { renew: true }, granted);
    const acquiring = http.client.acquire("a", { reentrant: true, renew: true });
    await settle();
    await http.one().answer(acquired({ reentrant: true, depth: 2, ...granted }));
    const inner = await acquiring;
    inner.release().catch(() => undefined);
    await settle();
    await http.one().answer({ status: "held", depth: 1 });
    await http.time.advance(3_000);
    await http.one().answer(extended);
    await http.time.advance(3_000);
    expect(http.one().path).toBe("/v1/latch/a/extend");
  });

  test("ends with the release, before anything is sent", async () => {
    const http = scriptedHttp();
    const lock = await held(http, { renew: true }, granted);
    const releasing = lock.release();
    await settle();
    await http.time.advance(6_000);
    await http.one().answer({ status: "released" });
    await releasing;
    await http.time.advance(60_000);
    expect(http.all).toHaveLength(2);
    expect(http.time.timers).toBe(0);
  });

  test("that races a release never reports a false loss", async () => {
    const http = scriptedHttp();
    const lock = await held(http, { renew: true }, granted);
    await http.time.advance(3_000);
    const renewal = http.one();
    const releasing = lock.release();
    await settle();
    await renewal.problem("lost", { reason: "released" });
    await http.one().answer({ status: "released" });
    expect(await outcome(releasing)).toBeUndefined();
    expect(lock.signal.aborted).toBe(false);
    expect(http.errors).toEqual([]);
  });

  test("loses the lock when the server says that it is lost", async () => {
    const http = scriptedHttp();
    const lock = await held(http, { renew: true }, granted);
    await http.time.advance(3_000);
    await http.one().problem("lost", { reason: "revoked" });
    expect(lock.signal.reason).toMatchObject({ reason: "revoked" });
    await http.time.advance(60_000);
    expect(http.all).toHaveLength(2);
    expect(http.time.timers).toBe(0);
  });

  test("goes on after a failure, and does not keep a lock alive whose lease ran out", async () => {
    const http = scriptedHttp();
    const lock = await held(http, { renew: true }, granted);
    await http.time.advance(3_000);
    await http.one().fail();
    await http.time.advance(125);
    await http.one().answer(extended);
    await http.time.advance(3_000);
    const silent = http.one();
    expect(http.errors).toMatchObject([{ where: "http" }]);
    await http.time.advance(5_100);
    expect(lock.signal.reason).toMatchObject({ reason: "expired" });
    expect(silent.signal?.aborted).toBe(true);
    await http.time.advance(60_000);
    expect(http.time.timers).toBe(0);
  });
});

describe("a reentrant acquire over HTTP", () => {
  test("shows the token, shares the grant, and each handle releases once", async () => {
    const http = scriptedHttp();
    const outer = await held(http);
    const acquiring = http.client.acquire("a", { reentrant: true, ttl: 1_000 });
    await settle();
    const sent = http.one();
    expect(sent.body).toMatchObject({ token: "token-1", nest: true, ttl: 1_000 });
    await sent.answer(acquired({ reentrant: true, depth: 2, ttl: 1_000, expires_in: 1_000 }));
    const inner = await acquiring;
    expect(inner.signal).toBe(outer.signal);
    // Re-entry never shortens a lease.
    await http.time.advance(20_000);
    expect(outer.signal.aborted).toBe(false);

    const releasing = [inner.release(), outer.release()];
    await settle();
    const first = http.one();
    await first.answer({ status: "held", depth: 1 });
    const second = http.one();
    expect(second.body["request_id"]).not.toBe(first.body["request_id"]);
    await second.answer({ status: "released" });
    expect(await outcome(Promise.all(releasing))).toEqual([undefined, undefined]);
    expect(http.time.timers).toBe(0);
  });

  test("is an ordinary one when another key is held", async () => {
    const http = scriptedHttp();
    await held(http);
    http.client.acquire("b", { reentrant: true }).catch(() => undefined);
    await settle();
    expect(http.one().body).not.toHaveProperty("token");
  });

  test("whose release is tried twice leaves the outer lock counted and timed", async () => {
    const http = scriptedHttp();
    const outer = await held(http);
    const acquiring = http.client.acquire("a", { reentrant: true });
    await settle();
    await http.one().answer(acquired({ reentrant: true, depth: 2 }));
    const inner = await acquiring;
    inner.release().catch(() => undefined);
    await http.time.advance(10_000);
    inner.release().catch(() => undefined);
    await settle();
    await http.all.at(-1)?.answer({ status: "held", depth: 1 });
    await http.time.advance(20_000);
    expect(outer.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("whose release finds the lock lost tells those who hold it", async () => {
    const http = scriptedHttp();
    const outer = await held(http);
    const acquiring = http.client.acquire("a", { reentrant: true });
    await settle();
    await http.one().answer(acquired({ reentrant: true, depth: 2 }));
    const releasing = (await acquiring).release();
    await settle();
    await http.one().problem("lost", { reason: "stolen" });
    expect(await outcome(releasing)).toMatchObject({ reason: "stolen" });
    expect(outer.signal.reason).toMatchObject({ reason: "stolen" });
  });

  test("into a lock that no longer holds rejects, and tells those who hold it", async () => {
    const http = scriptedHttp();
    const outer = await held(http);
    const acquiring = http.client.acquire("a", { reentrant: true });
    await settle();
    await http.one().problem("lost", { reason: "expired" });
    expect(await outcome(acquiring)).toBeInstanceOf(LockLostError);
    expect(outer.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("that is refused leaves the outer lock as it was", async () => {
    const http = scriptedHttp();
    const outer = await held(http);
    const acquiring = http.client.acquire("a", { reentrant: true });
    await settle();
    await http.one().problem("depth_limit");
    expect(await outcome(acquiring)).toMatchObject({ code: "depth_limit" });
    expect(outer.signal.aborted).toBe(false);
  });
});

describe("raw tokens and reads over HTTP", () => {
  test("release says what is left", async () => {
    const http = scriptedHttp();
    const releasing = http.client.release("a", "token");
    await settle();
    await http.one().answer({ status: "held", depth: 2 });
    expect(await releasing).toEqual({ depth: 2, already: false });
  });

  test("an unknown token is a lost lock", async () => {
    const http = scriptedHttp();
    const extending = http.client.extend("a", "token", 5_000);
    await settle();
    await http.one().problem("unknown_token");
    expect(await outcome(extending)).toMatchObject({ code: "lost", reason: "unknown" });
  });

  test("status and list speak the client's words", async () => {
    const http = scriptedHttp({ space: "shop" });
    const holder = { mode: "exclusive", fence: 3, since: 1_700_000_000 };
    const status = http.client.status("a");
    await settle();
    await http.one().answer({ key: "a", status: "held", holders: [{ ...holder, expires_in: 500 }], waiting: 1 });
    expect(await status).toEqual({ key: "a", status: "held", holders: [{ ...holder, expiresIn: 500 }], waiting: 1 });

    const list = http.client.list({ prefix: "a/", after: "a/1", count: 5 });
    await settle();
    const sent = http.one();
    expect(Object.fromEntries(new URL(sent.url).searchParams)).toEqual({
      space: "shop",
      prefix: "a/",
      after: "a/1",
      count: "5",
    });
    await sent.answer({ keys: [{ key: "a/2", status: "free", holders: [], waiting: 0 }], next: "a/2" });
    expect(await list).toEqual({ keys: [{ key: "a/2", status: "free", holders: [], waiting: 0 }], next: "a/2" });
  });

  test("are tried again when there is no answer, but not for ever", async () => {
    const http = scriptedHttp();
    const status = http.client.status("a");
    await settle();
    await http.one().fail();
    await http.time.advance(125);
    await http.one().respond(new Response("ok"));
    await http.time.advance(10_000);
    expect(await outcome(status)).toBeInstanceOf(UnavailableError);
  });
});

describe("withLock over HTTP", () => {
  test("lets the first go when the second cannot be had", async () => {
    const http = scriptedHttp();
    const running = http.client.withLock(["b", "a"], () => "never", { timeout: 1_000 });
    await settle();
    const first = http.one();
    expect(first.path).toBe("/v1/latch/a/acquire");
    await first.answer(acquired());
    await http.time.advance(1_000);
    const second = http.one();
    expect(second.path).toBe("/v1/latch/b/acquire");
    await second.answer({ status: "timeout" });
    const release = http.one();
    expect(release.path).toBe("/v1/latch/a/release");
    await release.answer({ status: "released" });
    expect(await outcome(running)).toBeInstanceOf(LockTimeoutError);
  });

  test("rejects when the lease ran out under the work", async () => {
    const http = scriptedHttp();
    const running = http.client.withLock(
      "a",
      ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)),
    );
    await settle();
    await http.one().answer(acquired());
    await http.time.advance(30_000);
    expect(await outcome(running)).toMatchObject({ code: "lost", reason: "expired" });
  });
});

test("no error over HTTP shows a token or a credential", async () => {
  const http = scriptedHttp({ auth: "api-key-1" });
  const releasing = http.client.release("a", "secret-token");
  await settle();
  await http.one().problem("lost", { reason: "expired" });
  const error = await outcome(releasing);
  const text = `${String(error)} ${JSON.stringify(error)}`;
  expect(text).not.toContain("secret-token");
  expect(text).not.toContain("api-key-1");
});
