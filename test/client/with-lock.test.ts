import { describe, expect, test } from "vitest";
import { LockLostError, LockTimeoutError } from "../../src/client/index.ts";
import { connected, grantOf, type Scripted } from "./support/scripted-server.ts";
import { outcome, settle } from "./support/virtual-time.ts";

/** Grants the acquire that was sent, and says which key it was for. */
async function grant(server: Scripted): Promise<{ key: unknown; id: string }> {
  const { id, key } = server.end().one("acquire");
  await server.end().say(grantOf(id, String(key)));
  return { id, key };
}

/** Takes all releases that were sent, and says which keys they were for. */
async function takeReleases(server: Scripted): Promise<unknown[]> {
  const frames = server.end().sent() as { t: string; id: string; key: string }[];
  for (const { t, id } of frames) if (t === "release") await server.end().say({ t: "released", id, depth: 0 });
  return frames.map(({ t, key }) => `${t} ${key}`);
}

/** Work that goes on until the test says so. */
function work<T>() {
  let finish: (value: T) => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const done = new Promise<T>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  return { done, finish, fail };
}

describe("withLock", () => {
  test("runs the work under the lock, releases it, and gives the result", async () => {
    const server = await connected();
    const job = work<string>();
    const running = server.client.withLock("a", (lock) => {
      expect(lock.key).toBe("a");
      return job.done;
    });
    await grant(server);
    expect(server.end().sent()).toEqual([]);
    job.finish("result");
    await settle();
    expect(await takeReleases(server)).toEqual(["release a"]);
    expect(await outcome(running)).toBe("result");
  });

  test("gives the error of the work, also one that is thrown at once", async () => {
    const server = await connected();
    const running = server.client.withLock("a", () => {
      throw new Error("the work failed");
    });
    await grant(server);
    expect(await takeReleases(server)).toEqual(["release a"]);
    expect(await outcome(running)).toEqual(new Error("the work failed"));
  });

  test("gives the error of the work, even if the lock was lost", async () => {
    const server = await connected();
    const job = work<void>();
    const running = server.client.withLock("a", () => job.done);
    await grant(server);
    await server.end().drop();
    job.fail(new Error("the work failed"));
    expect(await outcome(running)).toEqual(new Error("the work failed"));
  });

  test("gives the error of the work, even if the release fails, which onError hears of", async () => {
    const server = await connected();
    const running = server.client.withLock("a", () => Promise.reject(new Error("the work failed")));
    await grant(server);
    const { id } = server.end().one("release");
    await server.end().say({ t: "refused", id, code: "bad_request", detail: "no", retryable: false });
    expect(await outcome(running)).toEqual(new Error("the work failed"));
    expect(server.errors).toMatchObject([{ error: { code: "bad_request" }, where: "release" }]);
  });

  test("gives the result although the release failed", async () => {
    const server = await connected();
    const running = server.client.withLock("a", () => "result");
    await grant(server);
    const { id } = server.end().one("release");
    await server.end().say({ t: "refused", id, code: "bad_request", detail: "no", retryable: false });
    expect(await outcome(running)).toBe("result");
    expect(server.errors).toHaveLength(1);
  });

  test("rejects when the lock was lost while the work went on: it ran unprotected", async () => {
    const server = await connected();
    const job = work<string>();
    const running = server.client.withLock("a", () => job.done);
    const { id } = await grant(server);
    await server.end().say({ t: "lost", id, key: "a", reason: "stolen" });
    job.finish("result");
    const error = await outcome(running);
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ reason: "stolen" });
  });

  test("tells the work by the signal", async () => {
    const server = await connected();
    const running = server.client.withLock(
      "a",
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    );
    await grant(server);
    await server.end().drop();
    expect(await outcome(running)).toBeInstanceOf(LockLostError);
  });

  test("notices a loss that only the clock knows of", async () => {
    const server = await connected();
    const job = work<string>();
    const running = server.client.withLock("a", () => job.done);
    await grant(server);
    server.time.suspend(60_000);
    job.finish("result");
    expect(await outcome(running)).toBeInstanceOf(LockLostError);
  });

  test("does not run the work without the lock", async () => {
    const server = await connected();
    let ran = false;
    const running = server.client.withLock("a", () => (ran = true), { timeout: 100 });
    await server.end().say({ t: "timeout", id: server.end().one("acquire").id });
    expect(await outcome(running)).toBeInstanceOf(LockTimeoutError);
    expect(ran).toBe(false);
  });
});

describe("withLock of several keys", () => {
  test("takes them in one order, without duplicates, one after the other", async () => {
    const server = await connected();
    const running = server.client.withLock(["b", "a", "b", "\uD83D\uDE00", "\uFFFF"], ({ locks }) =>
      locks.map((lock) => lock.key),
    );
    // By code units: the surrogates of the emoji come before U+FFFF.
    const order = ["a", "b", "\uD83D\uDE00", "\uFFFF"];
    for (const key of order) expect((await grant(server)).key).toBe(key);
    await takeReleases(server);
    expect(await outcome(running)).toEqual(order);
  });

  test("is served in the order of the calls, like any other call for its first key", async () => {
    const server = await connected();
    const running = [
      server.client.withLock("a", () => undefined),
      server.client.withLock(["b", "a"], () => undefined),
      server.client.acquire("a", { mode: "shared" }),
    ];
    for (const run of running) run.catch(() => undefined);
    const frames = server.end().sent();
    expect(frames).toMatchObject([
      { t: "acquire", key: "a" },
      { t: "acquire", key: "a" },
      { t: "acquire", key: "a", mode: "shared" },
    ]);
  });

  test("gives each lock by its key", async () => {
    const server = await connected();
    const running = server.client.withLock(["a", "b"], (set) => [set.get("a")?.key, set.get("b")?.key, set.get("c")]);
    await grant(server);
    await grant(server);
    await takeReleases(server);
    expect(await outcome(running)).toEqual(["a", "b", undefined]);
  });

  test("lets the first go when the second cannot be had", async () => {
    const server = await connected();
    let ran = false;
    const running = server.client.withLock(["a", "b"], () => (ran = true), { timeout: 1_000 });
    await grant(server);
    await server.end().say({ t: "timeout", id: server.end().one("acquire").id });
    expect(await takeReleases(server)).toEqual(["release a"]);
    expect(await outcome(running)).toBeInstanceOf(LockTimeoutError);
    expect(ran).toBe(false);
  });

  test("shares one timeout between them", async () => {
    const server = await connected();
    server.client.withLock(["a", "b"], () => undefined, { timeout: 1_000 }).catch(() => undefined);
    const first = server.end().one("acquire");
    expect(first["timeout"]).toBe(1_000);
    await server.time.advance(300);
    await server.end().say(grantOf(first.id, "a"));
    expect(server.end().one("acquire")["timeout"]).toBe(700);
  });

  test("lets the first go when the caller gives up the wait for the second", async () => {
    const server = await connected();
    const stop = new AbortController();
    const running = server.client.withLock(["a", "b"], () => undefined, { signal: stop.signal });
    await grant(server);
    server.end().sent();
    stop.abort(new Error("no"));
    await settle();
    expect(await takeReleases(server)).toEqual(["cancel undefined", "release a"]);
    expect(await outcome(running)).toEqual(new Error("no"));
  });

  test("gives up the wait for the second when the first is lost", async () => {
    const server = await connected();
    const running = server.client.withLock(["a", "b"], () => undefined);
    const { id } = await grant(server);
    const second = server.end().one("acquire");
    await server.end().say({ t: "lost", id, key: "a", reason: "stolen" });
    expect(server.end().sent()).toEqual([{ t: "cancel", id: second.id }]);
    expect(await outcome(running)).toMatchObject({ code: "lost", key: "a", reason: "stolen" });
  });

  test("tells the work when any of them is lost, and rejects", async () => {
    const server = await connected();
    const job = work<string>();
    const aborted: unknown[] = [];
    const running = server.client.withLock(["a", "b"], ({ signal }) => {
      signal.addEventListener("abort", () => aborted.push(signal.reason));
      return job.done;
    });
    await grant(server);
    const { id } = await grant(server);
    await server.end().say({ t: "lost", id, key: "b", reason: "revoked" });
    expect(aborted).toMatchObject([{ key: "b", reason: "revoked" }]);
    job.finish("result");
    await settle();
    expect(await takeReleases(server)).toEqual(["release a"]);
    expect(await outcome(running)).toMatchObject({ code: "lost", key: "b" });
  });

  test("leaves no wait of the caller's signal when the work runs", async () => {
    const server = await connected();
    const stop = new AbortController();
    const job = work<string>();
    const running = server.client.withLock(["a", "b"], () => job.done, { signal: stop.signal });
    await grant(server);
    await grant(server);
    stop.abort(new Error("late"));
    job.finish("result");
    await settle();
    await takeReleases(server);
    expect(await outcome(running)).toBe("result");
  });

  test("of none runs the work", async () => {
    const server = await connected();
    expect(await server.client.withLock([], ({ locks }) => locks.length)).toBe(0);
  });
});
