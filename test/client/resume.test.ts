import { describe, expect, test } from "vitest";
import { LockTimeoutError, UnavailableError } from "../../src/client/index.ts";
import type { ConnectOptions, Lock } from "../../src/client/index.ts";
import type { ClaimTold } from "../../src/protocol/server-frames.ts";
import { claimOf, connected, grantOf, greet, held, type Scripted, welcome } from "./support/scripted-server.ts";
import { outcome } from "./support/virtual-time.ts";

const GRACE: ConnectOptions = { grace: 60_000 };

/** The connection is lost, made again and resumed; `claims` is what the server says then. */
async function resume(server: Scripted, claims: readonly ClaimTold[]): Promise<void> {
  await server.end().drop();
  await server.time.advance(1_000);
  await greet(server, { resumed: true, grace: 60_000, claims });
}

function holding(lock: Lock & { id: string }, told: Partial<ClaimTold> = {}): ClaimTold {
  return claimOf(lock.id, lock.key, "holding", { token: lock.token, fence: lock.fence, depth: 1, ...told });
}

describe("with a grace, a lost connection", () => {
  test("is resumed with the secret of the session", async () => {
    const server = await connected(GRACE);
    await server.end().drop();
    await server.time.advance(1_000);
    const hello = await greet(server, { resumed: true, grace: 60_000, claims: [] });
    expect(hello["resume"]).toEqual({ session: "session-1", secret: "secret-1" });
  });

  test("leaves locks alone until the grace is over, counted from the last proof of life", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a");
    await server.time.advance(5_000);
    await server.end().say("ping");
    await server.end().say("ack");
    await server.time.advance(3_000);
    await server.end().drop();
    await server.time.advance(54_999);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.reason).toMatchObject({ reason: "dropped" });
  });

  test("loses locks at once when the grace from the last proof of life is over already", async () => {
    const server = await connected({ grace: 3_000 });
    const lock = await held(server, "a");
    await server.time.advance(4_000);
    await server.end().drop();
    expect(lock.signal.aborted).toBe(true);
  });

  test("that was only silent is one that may have been dropped long ago", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a");
    await server.time.advance(13_500);
    expect(server.client.connection).toBe("reconnecting");
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(44_499);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.aborted).toBe(true);
  });

  test("counts the grace that the server gave, not the one that was asked for", async () => {
    const server = await connected(GRACE, { grace: 0 });
    const lock = await held(server, "a");
    await server.end().drop();
    expect(lock.signal.aborted).toBe(true);
    await server.time.advance(1_000);
    await server.end().open();
    expect(server.end().one("hello")).not.toHaveProperty("resume");
  });

  test("that ends with a session that is over loses everything, and the next hello does not resume", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a");
    await server.end().drop(4410);
    expect(lock.signal.reason).toMatchObject({ reason: "dropped" });
    await server.time.advance(1_000);
    await server.end().open();
    expect(server.end().one("hello")).not.toHaveProperty("resume");
  });

  test("whose resume is refused loses everything and says hello anew, at once", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a");
    const waiting = server.client.acquire("b");
    server.end().sent();
    await server.end().drop();
    await server.time.advance(1_000);
    await server.end().open();
    expect(server.end().one("hello")).toHaveProperty("resume");
    expect(lock.signal.aborted).toBe(false);
    await server.end().say({ t: "error", code: "session_ended", detail: "the session is over" });
    await server.end().drop(4410);
    expect(lock.signal.reason).toMatchObject({ reason: "dropped" });
    await server.time.advance(0);
    const hello = await greet(server, { session: "session-2" });
    expect(hello).not.toHaveProperty("resume");
    expect(server.end().one("acquire")).toMatchObject({ key: "b" });
    expect(await outcome(waiting)).toBe("pending");
  });

  test("answered with a fresh session in spite of the resume loses everything", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a");
    await server.end().drop();
    await server.time.advance(1_000);
    await greet(server, { session: "session-2", resumed: false, grace: 60_000 });
    expect(lock.signal.reason).toMatchObject({ reason: "dropped" });
  });
});

describe("the server's snapshot", () => {
  test("keeps what it says is held, with what is left of its lease since hello was sent", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a", { ttl: 10_000 }, { ttl: 10_000, expires_in: 10_000 });
    await resume(server, [holding(lock, { ttl: 10_000, expires_in: 5_000 })]);
    await server.time.advance(4_499);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.reason).toMatchObject({ reason: "expired" });
  });

  test("loses what it says is gone, with the reason", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a");
    await resume(server, [claimOf(lock.id, "a", "gone", { outcome: "stolen" })]);
    expect(lock.signal.reason).toMatchObject({ reason: "stolen" });
  });

  test("loses what is not in it", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a");
    await resume(server, []);
    expect(lock.signal.reason).toMatchObject({ reason: "unknown" });
  });

  test("gives the lock that was granted while we were away: the grant was the frame that got lost", async () => {
    const server = await connected(GRACE);
    const acquiring = server.client.acquire("a");
    const { id } = server.end().one("acquire");
    await resume(server, [claimOf(id, "a", "holding", { token: "token", fence: 5, depth: 1 })]);
    expect(await outcome(acquiring)).toMatchObject({ key: "a", token: "token", fence: 5 });
    expect(server.end().sent()).toEqual([]);
  });

  test("leaves what waits in its place", async () => {
    const server = await connected(GRACE);
    const acquiring = server.client.acquire("a");
    const { id } = server.end().one("acquire");
    await resume(server, [claimOf(id, "a", "waiting", { position: 1 })]);
    expect(server.end().sent()).toEqual([]);
    await server.end().say(grantOf(id, "a"));
    expect(await outcome(acquiring)).toMatchObject({ key: "a" });
  });

  test("without a waiting acquire means that it never arrived: it is sent again, under the same id", async () => {
    const server = await connected(GRACE);
    const acquiring = server.client.acquire("a", { timeout: 10_000 });
    const { id } = server.end().one("acquire");
    await resume(server, []);
    expect(server.end().one("acquire")).toMatchObject({ id, timeout: 9_000 });
    expect(await outcome(acquiring)).toBe("pending");
  });

  test("ends a wait whose time was over while we were away", async () => {
    const server = await connected(GRACE);
    const acquiring = server.client.acquire("a", { timeout: 30_000 });
    const { id } = server.end().one("acquire");
    await resume(server, [claimOf(id, "a", "gone", { outcome: "timed_out" })]);
    expect(await outcome(acquiring)).toBeInstanceOf(LockTimeoutError);
  });

  test("ends a wait that an operator ended", async () => {
    const server = await connected(GRACE);
    const acquiring = server.client.acquire("a");
    const { id } = server.end().one("acquire");
    await resume(server, [claimOf(id, "a", "gone", { outcome: "revoked" })]);
    expect(await outcome(acquiring)).toBeInstanceOf(UnavailableError);
  });

  test("with a lock that was granted and expired while we were away: it is asked for anew, under another id", async () => {
    const server = await connected(GRACE);
    const acquiring = server.client.acquire("a", { ttl: 500 });
    const { id } = server.end().one("acquire");
    await resume(server, [claimOf(id, "a", "gone", { outcome: "expired" })]);
    const again = server.end().one("acquire");
    expect(again.id).not.toBe(id);
    await server.end().say(grantOf(again.id, "a", { ttl: 500, expires_in: 500 }));
    expect(await outcome(acquiring)).toMatchObject({ key: "a" });
  });

  test.each(["waiting", "holding"] as const)("withdraws a %s claim that was given up meanwhile", async (state) => {
    const server = await connected(GRACE);
    const stop = new AbortController();
    const acquiring = server.client.acquire("a", { signal: stop.signal });
    const { id } = server.end().one("acquire");
    await server.end().drop();
    stop.abort(new Error("no"));
    await server.time.advance(1_000);
    await greet(server, { resumed: true, grace: 60_000, claims: [claimOf(id, "a", state, { token: "token" })] });
    expect(server.end().sent()).toEqual([{ t: "cancel", id }]);
    expect(await outcome(acquiring)).toEqual(new Error("no"));
  });

  test("is waited for before a claim is withdrawn that was given up while the resume was on its way", async () => {
    const server = await connected(GRACE);
    const stop = new AbortController();
    const acquiring = server.client.acquire("a", { signal: stop.signal });
    const { id } = server.end().one("acquire");
    await server.end().drop();
    await server.time.advance(1_000);
    await server.end().open();
    server.end().one("hello");
    stop.abort(new Error("no"));
    expect(server.end().sent()).toEqual([]);
    await server.end().say(welcome({ resumed: true, grace: 60_000, claims: [claimOf(id, "a", "waiting")] }));
    expect(server.end().sent()).toEqual([{ t: "cancel", id }]);
    expect(await outcome(acquiring)).toEqual(new Error("no"));
  });

  test("with a lock that this side has counted as lost meanwhile: it is let go", async () => {
    const server = await connected({ grace: 3_000 });
    const lock = await held(server, "a");
    await server.time.advance(4_000);
    await server.end().drop();
    expect(lock.signal.aborted).toBe(true);
    await server.time.advance(1_000);
    await greet(server, { resumed: true, grace: 3_000, claims: [holding(lock)] });
    expect(server.end().sent()).toEqual([{ t: "cancel", id: lock.id }]);
  });

  test("tells also what ended long ago, of which nothing is to be done", async () => {
    const server = await connected(GRACE);
    await resume(server, [claimOf("old", "a", "gone", { outcome: "released" })]);
    expect(server.end().sent()).toEqual([]);
  });

  test("does not speak of locks that were kept from a session before", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a", { ttl: 60_000, keep: true }, { ttl: 60_000, expires_in: 60_000 });
    await server.end().drop(4410);
    await server.time.advance(1_000);
    await greet(server, { session: "session-2", grace: 60_000 });
    await server.end().drop();
    await server.time.advance(1_000);
    await greet(server, { session: "session-2", resumed: true, grace: 60_000, claims: [] });
    expect(lock.signal.aborted).toBe(false);
  });
});

describe("on its way when the connection was lost", () => {
  test("an extend is sent again under the same id", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a");
    const extending = lock.extend(5_000);
    const { id } = server.end().one("extend");
    await resume(server, [holding(lock)]);
    expect(server.end().one("extend").id).toBe(id);
    await server.end().say({ t: "extended", id, key: "a", fence: lock.fence, ttl: 5_000, expires_in: 5_000 });
    expect(await outcome(extending)).toMatchObject({ ttl: 5_000 });
  });

  test("a release is sent again, also when the snapshot says that it was done", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a");
    const releasing = lock.release();
    const { id } = server.end().one("release");
    await resume(server, [claimOf(lock.id, "a", "gone", { outcome: "released" })]);
    expect(server.end().one("release").id).toBe(id);
    await server.end().say({ t: "released", id, depth: 0, already: true });
    expect(await outcome(releasing)).toBeUndefined();
    expect(lock.signal.aborted).toBe(false);
  });

  test("a nested acquire is sent again under the same id", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a");
    const nesting = server.client.acquire("a", { reentrant: true });
    const { id } = server.end().one("acquire");
    await resume(server, [holding(lock, { depth: 2 })]);
    expect(server.end().one("acquire")).toMatchObject({ id, token: lock.token, nest: true });
    await server.end().say(grantOf(id, "a", { token: lock.token, reentrant: true, depth: 2 }));
    expect(await outcome(nesting)).toMatchObject({ token: lock.token });
  });

  test("everything about a lock settles as lost when the session is over", async () => {
    const server = await connected(GRACE);
    const lock = await held(server, "a");
    const asked = [lock.extend(5_000), server.client.acquire("a", { reentrant: true }), lock.release()];
    await server.end().drop();
    expect(await outcome(Promise.race(asked))).toBe("pending");
    await server.time.advance(1_000);
    await server.end().open();
    await server.end().drop(4410);
    for (const asking of asked) expect(await outcome(asking)).toMatchObject({ code: "lost", reason: "dropped" });
  });
});

test("what is asked while the connection is away waits for the resume", async () => {
  const server = await connected(GRACE);
  const lock = await held(server, "a");
  await server.end().drop();
  const releasing = lock.release();
  const acquiring = server.client.acquire("b");
  await server.time.advance(1_000);
  await greet(server, { resumed: true, grace: 60_000, claims: [holding(lock)] });
  const [release, acquire] = server.end().sent() as { t: string; id: string }[];
  expect([release?.t, acquire?.t]).toEqual(["release", "acquire"]);
  await server.end().say({ t: "released", id: String(release?.id), depth: 0 }, grantOf(String(acquire?.id), "b"));
  expect(await outcome(releasing)).toBeUndefined();
  expect(await outcome(acquiring)).toMatchObject({ key: "b" });
});
