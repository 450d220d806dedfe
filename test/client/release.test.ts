import { describe, expect, test } from "vitest";
import { LockLostError, LockTimeoutError, RefusedError } from "../../src/client/index.ts";
import { connected, grantOf, greet, held, type Scripted } from "./support/scripted-server.ts";
import { outcome, settle } from "./support/virtual-time.ts";

describe("release", () => {
  test("sends the token and resolves when the server has taken it", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const releasing = lock.release();
    const { id, ...frame } = server.end().one("release");
    expect(frame).toEqual({ t: "release", key: "a", token: lock.token });
    expect(await outcome(releasing)).toBe("pending");
    await server.end().say({ t: "released", id, depth: 0 });
    expect(await outcome(releasing)).toBeUndefined();
    expect(lock.signal.aborted).toBe(false);
    expect(await outcome(lock.lost)).toBe("pending");
  });

  test("twice is once", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    expect(lock.release()).toBe(lock.release());
    const { id } = server.end().one("release");
    await server.end().say({ t: "released", id, depth: 0 });
    expect(await outcome(lock.release())).toBeUndefined();
    expect(server.end().sent()).toEqual([]);
  });

  test("that failed for good is not tried again", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const releasing = lock.release();
    const { id } = server.end().one("release");
    await server.end().say({ t: "refused", id, code: "bad_request", detail: "no", retryable: false });
    expect(await outcome(releasing)).toMatchObject({ code: "bad_request" });
    expect(lock.release()).toBe(releasing);
    expect(server.end().sent()).toEqual([]);
  });

  test("of a lost lock rejects with how it was lost", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    await server.end().say({ t: "lost", id: lock.id, key: "a", reason: "stolen" });
    const error = await outcome(lock.release());
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ reason: "stolen" });
    expect(server.end().sent()).toEqual([]);
  });

  test("that crosses a loss rejects, and is no news to those who were done", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const releasing = lock.release();
    const { id } = server.end().one("release");
    await server.end().say({ t: "lost", id: lock.id, key: "a", reason: "expired" });
    await server.end().say({ t: "lost", id, key: "a", reason: "expired" });
    expect(await outcome(releasing)).toMatchObject({ reason: "expired" });
    expect(lock.signal.aborted).toBe(false);
  });

  test("on its way when the lease ends here is decided by the server, not by our clock", async () => {
    const server = await connected();
    const lock = await held(server, "a", { ttl: 5_000 }, { ttl: 5_000, expires_in: 5_000 });
    await server.time.advance(4_400);
    const releasing = lock.release();
    const { id } = server.end().one("release");
    await server.time.advance(500);
    expect(await outcome(releasing)).toBe("pending");
    await server.end().say({ t: "released", id, depth: 0 });
    expect(await outcome(releasing)).toBeUndefined();
    expect(lock.signal.aborted).toBe(false);
  });

  test("on its way when the session is lost settles as lost", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const releasing = lock.release();
    await server.end().drop();
    expect(await outcome(releasing)).toMatchObject({ reason: "dropped" });
  });

  test("that the server cannot serve now is sent again: nobody could have the key if it were dropped", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const releasing = lock.release();
    const { id } = server.end().one("release");
    await server.end().say({
      t: "refused",
      id,
      code: "unavailable",
      detail: "the store cannot be reached",
      retryable: true,
      retry_after_ms: 200,
    });
    await server.time.advance(199);
    expect(server.end().sent()).toEqual([]);
    await server.time.advance(1);
    expect(server.end().one("release").id).toBe(id);
    await server.end().say({ t: "released", id, depth: 0 });
    expect(await outcome(releasing)).toBeUndefined();
  });

  test("of a token that the server does not know means that the lock is over", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const releasing = lock.release();
    const { id } = server.end().one("release");
    await server.end().say({ t: "refused", id, code: "unknown_token", detail: "no such token", retryable: false });
    expect(await outcome(releasing)).toMatchObject({ code: "lost", reason: "unknown" });
  });

  test("or extend with such a token tells those who work under it", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const extending = lock.extend(5_000);
    const { id } = server.end().one("extend");
    await server.end().say({ t: "refused", id, code: "unknown_token", detail: "no such token", retryable: false });
    expect(await outcome(extending)).toMatchObject({ code: "lost", reason: "unknown" });
    expect(lock.signal.reason).toMatchObject({ reason: "unknown" });
  });

  test("is followed by no extend", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    lock.release().catch(() => undefined);
    expect(await outcome(lock.extend(1_000))).toMatchObject({ code: "lost", reason: "released" });
  });

  test("waits for the answer to an extend, so that their order is known after a resume", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const extending = lock.extend(5_000);
    const releasing = lock.release();
    const extend = server.end().one("extend");
    await server.end().say({ t: "extended", id: extend.id, key: "a", fence: 1, ttl: 5_000, expires_in: 5_000 });
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 0 });
    expect(await outcome(Promise.all([extending, releasing]))).toMatchObject([{ ttl: 5_000 }, undefined]);
  });
});

describe("await using", () => {
  test("releases at the end of the scope", async () => {
    const server = await connected();
    const acquired = await held(server, "a");
    const scope = (async () => {
      await using lock = acquired;
      return lock.key;
    })();
    const { id } = server.end().one("release");
    await server.end().say({ t: "released", id, depth: 0 });
    expect(await scope).toBe("a");
  });

  test("never throws for a lost lock, so the error of the work comes through", async () => {
    const server = await connected();
    const acquired = await held(server, "a");
    const scope = async (): Promise<void> => {
      await using lock = acquired;
      await server.end().drop();
      expect(lock.signal.aborted).toBe(true);
      throw new Error("the work failed");
    };
    const running = scope();
    await settle();
    expect(await outcome(running)).toEqual(new Error("the work failed"));
    expect(server.errors).toEqual([]);
  });

  test("tells onError of a release that failed otherwise", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const disposing = lock[Symbol.asyncDispose]();
    const { id } = server.end().one("release");
    await server.end().say({ t: "refused", id, code: "bad_request", detail: "no", retryable: false });
    expect(await outcome(disposing)).toBeUndefined();
    expect(server.errors).toMatchObject([{ error: { code: "bad_request" }, where: "release" }]);
  });

  test("takes what tryAcquire gives, also null", async () => {
    const server = await connected();
    const trying = server.client.tryAcquire("a");
    await server.end().say({ t: "timeout", id: server.end().one("acquire").id });
    await using lock = await trying;
    expect(lock).toBeNull();
  });
});

describe("a reentrant acquire", () => {
  const nest = async (server: Scripted, outer: { token: string; fence: number }, depth = 2) => {
    const acquiring = server.client.acquire("a", { reentrant: true });
    const { id, ...frame } = server.end().one("acquire");
    expect(frame).toEqual({ t: "acquire", key: "a", token: outer.token, nest: true });
    await server.end().say(grantOf(id, "a", { token: outer.token, fence: outer.fence, reentrant: true, depth }));
    return acquiring;
  };

  test("shows the token of the lock that this client holds, and shares its grant", async () => {
    const server = await connected();
    const outer = await held(server, "a");
    const inner = await nest(server, outer);
    expect(inner).toMatchObject({ token: outer.token, fence: outer.fence });
    expect(inner.signal).toBe(outer.signal);
    expect(inner.lost).toBe(outer.lost);
  });

  test("is an ordinary one when this client does not hold the key", async () => {
    const server = await connected();
    await held(server, "b");
    server.client.acquire("a", { reentrant: true }).catch(() => undefined);
    expect(server.end().one("acquire")).not.toHaveProperty("token");
  });

  test("is needed to re-enter: another acquire queues behind our own lock", async () => {
    const server = await connected();
    await held(server, "a");
    server.client.acquire("a").catch(() => undefined);
    expect(server.end().one("acquire")).not.toHaveProperty("token");
  });

  test("counts: each handle releases once, however often it is released", async () => {
    const server = await connected();
    const outer = await held(server, "a");
    const inner = await nest(server, outer);
    const releasing = inner.release();
    inner.release().catch(() => undefined);
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 1 });
    await releasing;
    expect(outer.signal.aborted).toBe(false);
    const last = outer.release();
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 0 });
    await last;
    // Now nothing is held any more, so a reentrant acquire is an ordinary one.
    server.client.acquire("a", { reentrant: true }).catch(() => undefined);
    expect(server.end().one("acquire")).not.toHaveProperty("token");
  });

  test("does not go into a lock that is being released", async () => {
    const server = await connected();
    const outer = await held(server, "a");
    outer.release().catch(() => undefined);
    server.end().sent();
    server.client.acquire("a", { reentrant: true }).catch(() => undefined);
    expect(server.end().one("acquire")).not.toHaveProperty("token");
  });

  test("never shortens the lease", async () => {
    const server = await connected();
    const outer = await held(server, "a", { ttl: 12_000 }, { ttl: 12_000, expires_in: 12_000 });
    const acquiring = server.client.acquire("a", { reentrant: true, ttl: 1_000 });
    const { id, ttl } = server.end().one("acquire");
    expect(ttl).toBe(1_000);
    await server
      .end()
      .say(grantOf(id, "a", { token: outer.token, reentrant: true, depth: 2, ttl: 1_000, expires_in: 1_000 }));
    await acquiring;
    await server.time.advance(10_000);
    expect(outer.signal.aborted).toBe(false);
  });

  test("into a lock that no longer holds rejects, and tells those who hold it", async () => {
    const server = await connected();
    const outer = await held(server, "a");
    const acquiring = server.client.acquire("a", { reentrant: true });
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "lost", id, key: "a", reason: "expired" });
    expect(await outcome(acquiring)).toBeInstanceOf(LockLostError);
    expect(outer.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("that is refused leaves the lease of the outer lock as it was", async () => {
    const server = await connected();
    const outer = await held(server, "a", { ttl: 10_000 }, { ttl: 10_000, expires_in: 10_000 });
    server.client.acquire("a", { reentrant: true }).catch(() => undefined);
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "refused", id, code: "depth_limit", detail: "too deep", retryable: false });
    await server.time.advance(9_000);
    expect(outer.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("that is refused leaves the outer lock as it was", async () => {
    const server = await connected();
    const outer = await held(server, "a");
    const acquiring = server.client.acquire("a", { reentrant: true });
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "refused", id, code: "depth_limit", detail: "too deep", retryable: false });
    expect(await outcome(acquiring)).toBeInstanceOf(RefusedError);
    const releasing = outer.release();
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 0 });
    expect(await outcome(releasing)).toBeUndefined();
    expect(outer.signal.aborted).toBe(false);
  });

  test("that was given up, but granted all the same, is let go", async () => {
    const server = await connected();
    const outer = await held(server, "a");
    const stop = new AbortController();
    const acquiring = server.client.acquire("a", { reentrant: true, signal: stop.signal });
    const { id } = server.end().one("acquire");
    stop.abort(new Error("no"));
    expect(await outcome(acquiring)).toEqual(new Error("no"));
    // A nested acquire is no claim of its own: there is nothing to cancel.
    expect(server.end().sent()).toEqual([]);
    await server.end().say(grantOf(id, "a", { token: outer.token, reentrant: true, depth: 2 }));
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 1 });
    expect(outer.signal.aborted).toBe(false);
    const releasing = outer.release();
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 0 });
    expect(await outcome(releasing)).toBeUndefined();
    expect(outer.signal.aborted).toBe(false);
  });

  test("that was given up and counted unnoticed is made up for by the last release", async () => {
    const server = await connected();
    const outer = await held(server, "a");
    const releasing = outer.release();
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 1 });
    await releasing;
    expect(server.end().one("release")).toMatchObject({ token: outer.token });
  });

  test("that is given up when the outer lock is released already leaves nothing held", async () => {
    const server = await connected({ grace: 60_000 });
    const outer = await held(server, "a");
    const stop = new AbortController();
    const nesting = server.client.acquire("a", { reentrant: true, signal: stop.signal });
    const releasing = outer.release();
    const [, release] = server.end().sent() as { id: string }[];
    // Its grant never arrives, but it has counted.
    await server.end().say({ t: "released", id: String(release?.id), depth: 1 });
    await releasing;
    expect(server.end().sent()).toEqual([]);
    stop.abort(new Error("no"));
    expect(await outcome(nesting)).toEqual(new Error("no"));
    expect(server.end().one("release")).toMatchObject({ token: outer.token });
  });

  test("that is granted while a release is on its way lets no second one go with it", async () => {
    const server = await connected();
    const outer = await held(server, "a");
    const inner = await nest(server, outer);
    const nesting = server.client.acquire("a", { reentrant: true });
    const { id } = server.end().one("acquire");
    const releasing = [inner.release(), outer.release()];
    server.end().one("release");
    await server.end().say(grantOf(id, "a", { token: outer.token, reentrant: true, depth: 3 }));
    await nesting;
    expect(server.end().sent()).toEqual([]);
    expect(releasing).toHaveLength(2);
  });

  test("whose release has to be sent again while another one is on its way is not forgotten", async () => {
    const server = await connected();
    const outer = await held(server, "a");
    const inner = await nest(server, outer);
    const first = inner.release();
    const { id } = server.end().one("release");
    const later = { code: "unavailable", detail: "later", retryable: true, retry_after_ms: 100 } as const;
    await server.end().say({ t: "refused", id, ...later });
    const second = outer.release();
    const other = server.end().one("release");
    await server.time.advance(200);
    expect(server.end().sent()).toEqual([]);
    await server.end().say({ t: "released", id: other.id, depth: 1 });
    expect(server.end().one("release").id).toBe(id);
    await server.end().say({ t: "released", id, depth: 0 });
    expect(await outcome(Promise.all([first, second]))).toEqual([undefined, undefined]);
  });

  test("times out without a connection like any other", async () => {
    const server = await connected({ grace: 60_000 });
    await held(server, "a");
    await server.end().drop();
    const acquiring = server.client.acquire("a", { reentrant: true, timeout: 500 });
    await server.time.advance(500);
    expect(await outcome(acquiring)).toBeInstanceOf(LockTimeoutError);
  });

  test("two releases of one grant are sent one after the other: a repeat is recognised only if it is the latest", async () => {
    const server = await connected({ grace: 60_000 });
    const outer = await held(server, "a");
    const inner = await nest(server, outer);
    const releasing = [inner.release(), outer.release()];
    const first = server.end().one("release");
    await server.end().drop();
    await server.time.advance(1_000);
    await greet(server, {
      resumed: true,
      grace: 60_000,
      claims: [
        { id: outer.id, key: "a", state: "holding", mode: "exclusive", ticket: 1, token: outer.token, depth: 1 },
      ],
    });
    expect(server.end().one("release").id).toBe(first.id);
    await server.end().say({ t: "released", id: first.id, depth: 1, already: true });
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 0 });
    expect(await outcome(Promise.all(releasing))).toEqual([undefined, undefined]);
  });
});
