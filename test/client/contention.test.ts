import { describe, expect, test } from "vitest";
import { type Contended, type Lock, LockLostError, RefusedError } from "../../src/client/index.ts";
import { acquired, scriptedHttp } from "./support/scripted-http.ts";
import { connected, greet, held, scripted, type Scripted } from "./support/scripted-server.ts";
import { outcome, settle } from "./support/virtual-time.ts";

function refusal(id: string, code: string, retryable = false): string {
  return JSON.stringify({ t: "refused", id, code, detail: code, retryable });
}

describe("handTo", () => {
  test("names the session, and the lock is let go when the server has handed it on", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const handing = lock.handTo("session-2");
    const { id, ...frame } = server.end().one("hand_to");
    expect(frame).toEqual({ t: "hand_to", key: "a", token: lock.token, session: "session-2" });
    expect(await outcome(handing)).toBe("pending");
    await server.end().say({ t: "released", id, depth: 0 });
    expect(await handing).toBeUndefined();
    expect(lock.signal.aborted).toBe(false);
    await lock.release();
    await expect(lock.handTo("session-3")).rejects.toMatchObject({ code: "lost", reason: "released" });
    expect(server.end().sent()).toEqual([]);
  });

  test("a refusal leaves the lock as it was", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    for (const code of ["not_waiting", "shared_holders"]) {
      const handing = lock.handTo("session-2");
      await server.end().say(refusal(server.end().one("hand_to").id, code, code === "shared_holders"));
      await expect(handing).rejects.toMatchObject({ code });
      await expect(handing).rejects.toThrow(RefusedError);
    }
    expect(lock.signal.aborted).toBe(false);
    const releasing = lock.release();
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 0 });
    await releasing;
  });

  test("a release beside it waits for it, and is sent only when it was refused", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    lock.handTo("session-2").catch(() => undefined);
    const releasing = lock.release();
    const { id } = server.end().one("hand_to");
    expect(await outcome(releasing)).toBe("pending");
    await server.end().say(refusal(id, "not_waiting"));
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 0 });
    expect(await outcome(releasing)).toBeUndefined();

    const other = await held(server, "b");
    other.handTo("session-2").catch(() => undefined);
    const left = other[Symbol.asyncDispose]();
    await server.end().say({ t: "released", id: server.end().one("hand_to").id, depth: 0 });
    expect(await outcome(left)).toBeUndefined();
    expect([server.end().sent(), server.errors]).toEqual([[], []]);
  });

  test("ends the locks that are nested in the same grant as well, which are told", async () => {
    const server = await connected();
    const outer = await held(server, "a");
    const nesting = server.client.acquire("a", { reentrant: true });
    const { id: nestedId } = server.end().one("acquire");
    await server.end().say({
      t: "granted",
      id: nestedId,
      key: "a",
      token: outer.token,
      fence: outer.fence,
      mode: "exclusive",
      reentrant: true,
      depth: 2,
    });
    const inner = await nesting;
    const handing = inner.handTo("session-2");
    await server.end().say({ t: "released", id: server.end().one("hand_to").id, depth: 0 });
    await handing;
    expect(outer.signal.reason).toMatchObject({ reason: "released" });
    await expect(outer.release()).rejects.toThrow(LockLostError);
  });

  test("a lock that was lost on the way is told as lost", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const handing = lock.handTo("session-2");
    server.end().one("hand_to");
    await server.end().say({ t: "lost", id: lock.id, key: "a", reason: "stolen", by: { message: "mine" } });
    await expect(handing).rejects.toMatchObject({ reason: "stolen", by: { message: "mine" } });
    expect(lock.signal.aborted).toBe(true);
    await expect(lock.handTo("session-2")).rejects.toBe(lock.signal.reason);
    expect(server.end().sent()).toEqual([]);
  });

  test("over HTTP it is a release that names the session", async () => {
    const server = scriptedHttp();
    const acquiring = server.client.acquire("a");
    await settle();
    await server.one().answer(acquired({ token: "token-1" }));
    const lock = await acquiring;
    const refused = lock.handTo("session-2");
    await settle();
    await server.one().problem("limit_mismatch", { code: "not_waiting", retryable: false });
    await expect(refused).rejects.toMatchObject({ code: "not_waiting" });
    const handing = lock.handTo("session-2");
    await settle();
    const sent = server.one();
    expect(sent.path).toBe("/v1/latch/a/release");
    expect(sent.body).toEqual({ token: "token-1", hand_to: "session-2", request_id: expect.any(String) });
    await sent.answer({ status: "released" });
    expect(await handing).toBeUndefined();
    await server.time.advance(60_000);
    expect(lock.signal.aborted).toBe(false);
    await lock.release();
    expect(server.all).toHaveLength(3);
  });
});

describe("contended", () => {
  /** Sits on the lock, and notes what it is told. */
  async function listening(server: Scripted, lock: Lock) {
    const heard: Contended[] = [];
    const listener = ({ detail }: CustomEvent<Contended>): void => void heard.push(detail);
    lock.addEventListener("contended", listener);
    await settle();
    const { id } = server.end().one("watch");
    const tell = (waiting: number, asks?: object): Promise<void> => {
      const holders = [{ session: "session-1", mode: "exclusive", fence: lock.fence, since: 1 }];
      const entry = { key: "a", status: "held", holders, waiting, ...(asks !== undefined && { asks }) };
      return server.end().say(JSON.stringify({ t: "state", id, keys: [entry], full: true }));
    };
    return { heard, tell, listener };
  }

  test("is told when somebody begins to wait, asks, and leaves, and not when nothing of that changed", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const { heard, tell } = await listening(server, lock);
    await tell(0);
    expect(heard).toEqual([]);
    const asks = [{ session: "session-2", message: "may I?", since: 2 }];
    for (const told of [[1], [1], [1, asks], [0]] as const) await tell(told[0], told[1]);
    expect(heard).toEqual([
      { waiting: 1, asks: [] },
      { waiting: 1, asks },
      { waiting: 0, asks: [] },
    ]);
  });

  test("one watch serves all listeners of a lock, until they are removed", async () => {
    const server = await connected();
    const lock = await held(server, "a");
    const { heard, tell, listener } = await listening(server, lock);
    let others = 0;
    lock.addEventListener("contended", () => others++);
    lock.removeEventListener("contended", listener);
    await tell(1);
    expect([heard, others]).toEqual([[], 1]);
    expect(server.end().sent()).toEqual([]);
  });

  test("ends with the lock, however that ends", async () => {
    const server = await connected();
    for (const end of [
      async (lock: Lock & { id: string }) => void lock.release(),
      async (lock: Lock & { id: string }) => server.end().say({ t: "lost", id: lock.id, key: "a", reason: "stolen" }),
      async (lock: Lock & { id: string }) => {
        lock.handTo("session-2").catch(() => undefined);
        await server.end().say({ t: "released", id: server.end().one("hand_to").id, depth: 0 });
      },
    ]) {
      const lock = await held(server, "a");
      await listening(server, lock);
      await end(lock);
      expect(server.end().sent()).toContainEqual({ t: "unwatch", id: expect.any(String) });
      lock.addEventListener("contended", () => undefined);
      expect(server.end().sent()).toEqual([]);
    }
  });

  test.each([
    ["lost", (server: Scripted, id: string) => server.end().say({ t: "lost", id, key: "a", reason: "stolen" })],
    ["let go", (_: Scripted, __: string, lock: Lock) => void lock.release()],
    [
      "handed on",
      async (server: Scripted, _: string, lock: Lock) => {
        lock.handTo("session-2").catch(() => undefined);
        await server.end().say({ t: "released", id: server.end().one("hand_to").id, depth: 0 });
      },
    ],
  ])("opens no watch for a lock that is %s", async (_, end) => {
    const server = await connected();
    const lock = await held(server, "a");
    await end(server, lock.id, lock);
    lock.addEventListener("contended", () => undefined);
    await settle();
    expect(
      server
        .end()
        .sent()
        .filter((frame) => typeof frame !== "string" && frame["t"] === "watch"),
    ).toEqual([]);
  });

  test("over HTTP nobody tells, so it throws", async () => {
    const server = scriptedHttp();
    const acquiring = server.client.acquire("a");
    await settle();
    await server.one().answer(acquired());
    const lock = await acquiring;
    expect(() => lock.addEventListener("contended", () => undefined)).toThrow(RefusedError);
  });
});

test("steal is an acquire that takes the key and says why", async () => {
  const server = await connected();
  server.client.steal("a", { reason: "my turn", ttl: 5_000 }).catch(() => undefined);
  expect(server.end().one("acquire")).toMatchObject({ key: "a", steal: true, message: "my turn", ttl: 5_000 });
});

test("who is behind the session is said in hello", async () => {
  expect(await greet(await scripted({ user: "ada" }))).toMatchObject({ user: "ada" });
  expect(await greet(await scripted())).not.toHaveProperty("user");
});
