import { describe, expect, test } from "vitest";
import { LockLostError } from "../../src/client/index.ts";
import { beat, connected, grantOf, greet, held, type Scripted } from "./support/scripted-server.ts";
import { outcome, settle } from "./support/virtual-time.ts";

describe("a lock whose session is its lease", () => {
  test("is lost before the server's deadline when nothing is acked any more", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    await server.time.advance(13_499);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.aborted).toBe(true);
    expect(lock.signal.reason).toBeInstanceOf(LockLostError);
    expect(lock.signal.reason).toMatchObject({ key: "a", reason: "dropped", code: "lost", retryable: false });
    expect(await outcome(lock.lost)).toBe(lock.signal.reason);
  });

  test("counts from the send time of the last pong that was acked", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    await server.time.advance(5_000);
    await server.end().say("ping");
    await server.time.advance(3_000);
    await server.end().say("ack");
    await server.time.advance(10_499);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.aborted).toBe(true);
  });

  test("is held for as long as the server answers", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    await beat(server, 600_000);
    expect(lock.signal.aborted).toBe(false);
  });

  test("is lost at once when the connection is closed, without a grace", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    await server.end().drop();
    expect(lock.signal.reason).toMatchObject({ reason: "dropped" });
  });

  test("is lost before anything else is looked at when the program wakes from a suspend", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    server.time.suspend(60_000);
    // A ping that had been received before: it must not be answered as if all was well.
    await server.end().say("ping");
    expect(lock.signal.reason).toMatchObject({ reason: "dropped" });
    expect(server.end().sent()).toEqual([]);
  });

  test("is lost within a second after a suspend, although no timer counted it", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const aborted: boolean[] = [];
    lock.signal.addEventListener("abort", () => aborted.push(true));
    server.time.suspend(60_000);
    await server.time.advance(1_000);
    expect(aborted).toEqual([true]);
  });

  test("is lost for code that looks at the signal right after a suspend, before any timer", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    server.time.suspend(60_000);
    expect(() => lock.signal.throwIfAborted()).toThrow(LockLostError);
  });

  test("is lost for code that looks at the signal after a busy time in which no timer could run", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    server.time.block(14_000);
    expect(lock.signal.aborted).toBe(true);
  });

  test("survives a short suspend", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    server.time.suspend(5_000);
    await server.end().say("ping");
    expect(lock.signal.aborted).toBe(false);
    expect(server.end().sent()).toEqual(["pong"]);
  });

  test("is not lost because the wall clock was set back", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    server.time.suspend(-3_600_000);
    await server.time.advance(5_000);
    expect(lock.signal.aborted).toBe(false);
  });
});

describe("a lock with a ttl", () => {
  const granted = { ttl: 10_000, expires_in: 10_000 };

  test("that was granted at once is lost before the lease that began when the acquire was sent", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", { ttl: 10_000 });
    const { id } = server.end().one("acquire");
    await server.time.advance(800);
    await server.end().say(grantOf(id, "a", granted));
    const lock = await acquiring;
    await keepAlive(server, 8_199);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("that is granted after a wait is given at once when half of it is proven, and asked for again to prove the rest", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", { ttl: 10_000 });
    const [acquire] = server.end().texts;
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "queued", id, ticket: 1, position: 1 });
    await server.time.advance(2_000);
    await server.end().say(grantOf(id, "a", { ...granted, token: "token" }));
    const lock = await acquiring;
    // The same text is the same claim, and changes nothing.
    expect(server.end().texts.splice(0)).toEqual([acquire]);
    await server.end().say(grantOf(id, "a", { ...granted, token: "token", expires_in: 9_000 }));
    // 9 s from the second question, less the margin.
    await keepAlive(server, 8_099);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("that is granted after a wait counts from the last thing that was acked before, until more is proven", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", { ttl: 10_000 });
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "queued", id, ticket: 1, position: 1 });
    await keepAlive(server, 62_000);
    await server.end().say(grantOf(id, "a", granted));
    const lock = await acquiring;
    await server.time.advance(6_999);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.aborted).toBe(true);
  });

  test("whose grant may have lain in a buffer for long is not relied on before the server has answered again", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", { ttl: 1_000 });
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "queued", id, ticket: 1, position: 1 });
    server.time.suspend(3_000);
    await server.end().say(grantOf(id, "a", { ttl: 1_000, expires_in: 1_000 }));
    expect(await outcome(acquiring)).toBe("pending");
    expect(server.end().one("acquire").id).toBe(id);
    await server.time.advance(100);
    await server.end().say(grantOf(id, "a", { ttl: 1_000, expires_in: 700 }));
    const lock = await acquiring;
    expect(server.end().sent()).toEqual([]);
    await server.time.advance(529);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.aborted).toBe(true);
  });

  test("that came and went while we slept was never promised: it is asked for anew", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", { ttl: 1_000, timeout: 60_000 });
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "queued", id, ticket: 1, position: 1 });
    server.time.suspend(5_000);
    await server.end().say(grantOf(id, "a", { ttl: 1_000, expires_in: 1_000 }));
    server.end().one("acquire");
    await server.end().say({ t: "lost", id, key: "a", reason: "expired" });
    const again = server.end().one("acquire");
    expect(again.id).not.toBe(id);
    expect(again["timeout"]).toBe(55_000);
    await server.end().say({ t: "lost", id, key: "a", reason: "expired" });
    expect(server.end().sent()).toEqual([]);
    await server.end().say(grantOf(again.id, "a", { ttl: 1_000, expires_in: 1_000 }));
    expect(await outcome(acquiring)).toMatchObject({ key: "a" });
  });

  test("whose grant took longer than the lease is none: it is let go", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", { ttl: 1_000 });
    const { id } = server.end().one("acquire");
    await server.time.advance(900);
    await server.end().say(grantOf(id, "a", { ttl: 1_000, expires_in: 1_000, token: "token" }));
    expect(await outcome(acquiring)).toMatchObject({ code: "lost", reason: "expired" });
    expect(server.end().one("release")).toMatchObject({ token: "token" });
  });

  test("is not released when it is lost by our own clock: the work needs the margin to stop", async () => {
    const server = await connected();
    await held(server, "a", { ttl: 10_000 }, granted);
    await server.time.advance(9_500);
    expect(server.end().sent()).toEqual([]);
  });

  test("is lost when the server says so, whatever our clock thinks", async () => {
    const server = await connected();
    const lock = await held(server, "a", { ttl: 10_000 }, granted);
    await server
      .end()
      .say({ t: "lost", id: lock.id, key: "a", reason: "stolen", by: { session: "s2", message: "mine" } });
    expect(lock.signal.reason).toMatchObject({ reason: "stolen", by: { session: "s2", message: "mine" } });
    expect(await outcome(lock.lost)).toMatchObject({ reason: "stolen", by: { session: "s2", message: "mine" } });
  });

  test("is lost once: what the server says later changes nothing", async () => {
    const server = await connected();
    const lock = await held(server, "a", { ttl: 10_000 }, granted);
    await server.time.advance(9_000);
    await server.end().say({ t: "lost", id: lock.id, key: "a", reason: "stolen" });
    expect(lock.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("goes on when it is extended, from the time that the extend was sent", async () => {
    const server = await connected();
    const lock = await held(server, "a", { ttl: 10_000 }, granted);
    await server.time.advance(5_000);
    const extending = lock.extend(20_000);
    const { id, ...frame } = server.end().one("extend");
    expect(frame).toEqual({ t: "extend", key: "a", token: lock.token, ttl: 20_000 });
    await server.time.advance(500);
    await server.end().say({ t: "extended", id, key: "a", fence: lock.fence, ttl: 20_000, expires_in: 20_000 });
    expect(await extending).toEqual({ fence: lock.fence, ttl: 20_000, expiresIn: 20_000 });
    await keepAlive(server, 17_499);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("is extended by what was asked last, when nothing else is said", async () => {
    const server = await connected();
    const lock = await held(server, "a", { ttl: 10_000 }, granted);
    const answer = async (ttl: number): Promise<void> => {
      const extend = server.end().one("extend");
      expect(extend["ttl"]).toBe(ttl);
      await server.end().say({ t: "extended", id: extend.id, key: "a", fence: lock.fence, ttl, expires_in: ttl });
    };
    lock.extend().catch(() => undefined);
    await answer(10_000);
    lock.extend(12_000).catch(() => undefined);
    await answer(12_000);
    lock.extend().catch(() => undefined);
    await answer(12_000);
    const nesting = server.client.acquire("a", { reentrant: true, ttl: 14_000 });
    const { id } = server.end().one("acquire");
    await server.end().say(grantOf(id, "a", { reentrant: true, depth: 2, ttl: 14_000, expires_in: 14_000 }));
    (await nesting).extend().catch(() => undefined);
    await answer(14_000);
  });

  test("may be shortened as soon as the extend is sent", async () => {
    const server = await connected();
    const lock = await held(server, "a", { ttl: 10_000 }, granted);
    lock.extend(2_000).catch(() => undefined);
    await server.time.advance(1_800);
    expect(lock.signal.aborted).toBe(true);
  });

  test("keeps its lease when the extend is refused", async () => {
    const server = await connected();
    const lock = await held(server, "a", { ttl: 10_000 }, granted);
    const extending = lock.extend(500);
    const { id } = server.end().one("extend");
    await server.end().say({ t: "refused", id, code: "bad_request", detail: "no", retryable: false });
    expect(await outcome(extending)).toMatchObject({ code: "bad_request" });
    await server.time.advance(8_999);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.aborted).toBe(true);
  });

  test("is not lengthened by an answer from before the extend that shortened it", async () => {
    const server = await connected();
    const acquiring = server.client.acquire("a", { ttl: 10_000 });
    const { id } = server.end().one("acquire");
    await server.end().say({ t: "queued", id, ticket: 1, position: 1 }, grantOf(id, "a", granted));
    const lock = await acquiring;
    lock.extend(1_000).catch(() => undefined);
    await server.end().say(grantOf(id, "a", granted));
    await server.time.advance(900);
    expect(lock.signal.aborted).toBe(true);
  });

  test("that is told twice counts from when it was asked for, not from when it was told", async () => {
    const server = await connected();
    const lock = await held(server, "a", { ttl: 10_000 }, granted);
    await server.time.advance(5_000);
    await server.end().say(grantOf(lock.id, "a", granted));
    await server.time.advance(3_999);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.aborted).toBe(true);
  });

  test("cannot be extended once it is lost", async () => {
    const server = await connected();
    const lock = await held(server, "a", { ttl: 10_000 }, granted);
    await server.time.advance(9_000);
    expect(await outcome(lock.extend())).toMatchObject({ code: "lost", reason: "expired" });
    expect(server.end().sent()).toEqual([]);
  });

  test("is lost when the answer to an extend says so", async () => {
    const server = await connected();
    const lock = await held(server, "a", { ttl: 10_000 }, granted);
    const extending = lock.extend();
    const { id } = server.end().one("extend");
    await server.end().say({ t: "lost", id, key: "a", reason: "expired" });
    expect(await outcome(extending)).toBeInstanceOf(LockLostError);
    expect(lock.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("is lost with its session too", async () => {
    const server = await connected();
    const lock = await held(server, "a", { ttl: 60_000 }, { ttl: 60_000, expires_in: 60_000 });
    await server.end().drop();
    expect(lock.signal.reason).toMatchObject({ reason: "dropped" });
  });
});

test("a lock without a ttl can be given one, but not extended by nothing, as the server says", async () => {
  const server = await connected();
  const lock = await held(server, "a");
  const extending = lock.extend();
  const extend = server.end().one("extend");
  expect(extend).not.toHaveProperty("ttl");
  await server.end().say({ t: "refused", id: extend.id, code: "bad_request", detail: "no ttl", retryable: false });
  expect(await outcome(extending)).toMatchObject({ code: "bad_request" });
  lock.extend(3_000).catch(() => undefined);
  expect(server.end().one("extend")).toMatchObject({ ttl: 3_000 });
});

describe("a lock with keep", () => {
  const wanted = { ttl: 30_000, keep: true };
  const granted = { ttl: 30_000, expires_in: 30_000 };

  test("outlives its session and ends with its lease", async () => {
    const server = await connected();
    const lock = await held(server, "a", wanted, granted);
    await server.end().drop();
    await server.time.advance(1_000);
    await greet(server, { session: "session-2" });
    await keepAlive(server, 26_999);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("is released in the next session", async () => {
    const server = await connected();
    const lock = await held(server, "a", wanted, granted);
    await server.end().drop();
    const releasing = lock.release();
    await server.time.advance(1_000);
    await greet(server, { session: "session-2" });
    const { id } = server.end().one("release");
    await server.end().say({ t: "released", id, depth: 0 });
    expect(await outcome(releasing)).toBeUndefined();
  });

  test("does not keep the program busy while there is no connection", async () => {
    const server = await connected({ grace: 1_000 });
    await held(server, "a", wanted, granted);
    await server.end().drop();
    await server.time.advance(10_000);
    expect(server.time.timers).toBe(1);
  });

  test("is over for this client when that is closed", async () => {
    const server = await connected();
    const lock = await held(server, "a", wanted, granted);
    const closing = server.client.close();
    expect(lock.signal.reason).toMatchObject({ reason: "closed" });
    await server.end().drop(1000);
    await closing;
  });
});

describe("those who work under a lost lock", () => {
  test("are told before those who ask for something are answered", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const order: string[] = [];
    lock.extend(5_000).catch(() => order.push("extend rejected"));
    lock.signal.addEventListener("abort", () => order.push("aborted"));
    await server.end().drop();
    expect(order).toEqual(["aborted", "extend rejected"]);
  });

  test("are told once: nothing about it is asked again in the next session", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const extending = lock.extend(5_000);
    const releasing = lock.release();
    await server.end().drop();
    expect(await outcome(extending)).toMatchObject({ reason: "dropped" });
    expect(await outcome(releasing)).toMatchObject({ reason: "dropped" });
    await server.time.advance(1_000);
    await greet(server, { session: "session-2" });
    expect(server.end().sent()).toEqual([]);
  });

  test("may ask for the next lock while they are told", async () => {
    const server = await connected();
    const first = await held(server, "a");
    const second = await held(server, "b");
    let acquiring: Promise<unknown> = Promise.resolve();
    first.signal.addEventListener("abort", () => {
      acquiring = server.client.acquire("a");
    });
    await server.end().drop();
    expect(second.signal.aborted).toBe(true);
    await server.time.advance(1_000);
    await greet(server, { session: "session-2" });
    expect(server.end().one("acquire")).toMatchObject({ key: "a" });
    expect(await outcome(acquiring)).toBe("pending");
  });
});

test("a lost lock never becomes an unhandled rejection, whatever was asked about it", async () => {
  const unhandled = watchUnhandled();
  const server = await connected();
  const lock = await held(server, "a");
  const nested = server.client.acquire("a", { reentrant: true });
  nested.catch(() => undefined);
  lock.extend(1_000).catch(() => undefined);
  // These two are looked at by nobody.
  const forgotten = [lock.extend(2_000), lock.release()];
  await server.end().drop();
  forgotten.push(lock.extend(3_000), lock.release());
  expect(forgotten).toHaveLength(4);
  await server.client.ready;
  const second = await connected();
  const closing = second.client.close();
  await second.end().drop(1000);
  await closing;
  expect(await unhandled()).toEqual([]);
});

/** Answers heartbeats for so long, each ack `rttMs` after its ping. */
async function keepAlive({ time, end }: Scripted, ms: number, rttMs = 0): Promise<void> {
  let left = ms;
  while (left > 5_000) {
    await time.advance(5_000 - rttMs);
    await end().say("ping");
    await time.advance(rttMs);
    await end().say("ack");
    left -= 5_000;
  }
  await time.advance(left);
}

/** Collects unhandled rejections until it is called. */
function watchUnhandled(): () => Promise<unknown[]> {
  const seen: unknown[] = [];
  const note = (event: unknown): void => {
    seen.push(event);
  };
  const { process, addEventListener, removeEventListener } = globalThis as unknown as {
    process?: { on(name: string, run: typeof note): void; off(name: string, run: typeof note): void };
    addEventListener?: (name: string, run: typeof note) => void;
    removeEventListener?: (name: string, run: typeof note) => void;
  };
  process?.on("unhandledRejection", note);
  addEventListener?.("unhandledrejection", note);
  return async () => {
    await settle();
    // The runtime looks for them between two tasks.
    await new Promise((resolve) => setTimeout(resolve, 0));
    process?.off("unhandledRejection", note);
    removeEventListener?.("unhandledrejection", note);
    return seen;
  };
}
