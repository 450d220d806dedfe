import { describe, expect, test } from "vitest";
import { type Client, LockLostError, UnavailableError, type WebLock } from "../../src/client/index.ts";
import { connected, grantOf, type Scripted } from "./support/scripted-server.ts";
import { outcome, settle } from "./support/virtual-time.ts";

// What a LockManager does is in test/web-locks. Here is what only a network can do to one.

/** A request that was granted and holds; `told`: what becomes of it, `let`: its callback ends. */
async function holding(server: Scripted, name: string) {
  const { promise: work, resolve: end } = Promise.withResolvers<string>();
  let signal!: AbortSignal;
  const request = server.client.locks.request(name, (lock) => {
    ({ signal } = lock);
    return work;
  });
  await settle();
  const { id } = server.end().one("acquire");
  await server.end().say(grantOf(id, name));
  return { id, request, signal, end };
}

describe("a lock of client.locks that is lost", () => {
  test.each(["stolen", "revoked", "expired", "released"] as const)(
    "%s: rejects at once, with the cause",
    async (reason) => {
      const server = await connected();
      const { id, request, signal } = await holding(server, "a");
      await server.end().say({ t: "lost", id, key: "a", reason, by: { session: "other", message: "mine" } });
      const error = (await outcome(request)) as DOMException & { readonly cause: LockLostError };
      expect(error).toBeInstanceOf(DOMException);
      expect(error.name).toBe("AbortError");
      expect(error.cause).toBeInstanceOf(LockLostError);
      expect(error.cause).toMatchObject({ reason, by: { session: "other", message: "mine" } });
      expect(signal.reason).toBe(error.cause);
    },
  );

  test("with its connection: rejects at once, and lets nothing go a second time", async () => {
    const server = await connected();
    const { request, end } = await holding(server, "a");
    await server.end().drop();
    expect(await outcome(request)).toMatchObject({ name: "AbortError", cause: { reason: "dropped" } });
    end("late");
    await settle();
    expect(server.end().sent()).toEqual([]);
    expect(server.errors).toEqual([]);
  });

  const aborted = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve());
    });
  const failing = (): never => {
    throw new Error("mine");
  };
  test.each<[string, (lock: WebLock, client: Client) => unknown]>([
    ["fails in the same turn", ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject))],
    ["fails in the next turn", ({ signal }) => aborted(signal).then(failing)],
    ["is done in the same turn", ({ signal }) => aborted(signal)],
    ["itself closed the client, and failed", (_, client) => [client.close(), failing()]],
    ["itself closed the client, and fails later", (_, client) => client.close().then(failing)],
    ["itself closed the client, and was done", (_, client) => void client.close()],
  ])("rejects with the loss when its callback %s, and nothing is left unhandled", async (_, callback) => {
    const server = await connected();
    const request = server.client.locks.request("a", (lock) => callback(lock, server.client));
    await settle();
    const { id } = server.end().one("acquire");
    await server.end().say(grantOf(id, "a"));
    if (server.client.connection === "connected") {
      await server.end().say({ t: "lost", id, key: "a", reason: "stolen" });
    }
    expect(await outcome(request)).toMatchObject({ name: "AbortError", cause: { code: "lost" } });
    expect(server.errors).toEqual([]);
  });

  test("does not hide what its callback fails with for the loss of another, or for nothing that has a name", async () => {
    for (const own of [new LockLostError("b", "stolen"), undefined, null]) {
      const server = await connected();
      const heard: unknown[] = [];
      const request = server.client.locks.request("a", () => Promise.reject(own as Error));
      request.catch((error: unknown) => heard.push(error));
      await settle();
      await server.end().say(grantOf(server.end().one("acquire").id, "a"));
      await server.end().say({ t: "released", id: server.end().one("release").id, depth: 0 });
      expect(heard).toEqual([own]);
    }
  });

  test("and whose work fails after that: nobody is left who would hear of it, and it is no unhandled rejection", async () => {
    const server = await connected();
    const { promise: work, reject } = Promise.withResolvers<never>();
    const request = server.client.locks.request("a", () => work);
    await settle();
    const { id } = server.end().one("acquire");
    await server.end().say(grantOf(id, "a"));
    await server.end().say({ t: "lost", id, key: "a", reason: "stolen" });
    expect(await outcome(request)).toMatchObject({ name: "AbortError" });
    reject(new Error("late"));
    await settle();
    expect(server.errors).toEqual([]);
  });

  test("while its work is done and it is let go: the work counts", async () => {
    const server = await connected();
    const { id, request, end } = await holding(server, "a");
    end("saved");
    await settle();
    expect(server.end().one("release")).toMatchObject({ key: "a" });
    await server.end().say({ t: "lost", id, key: "a", reason: "revoked" });
    expect(await outcome(request)).toBe("saved");
    expect(server.errors).toEqual([]);
  });

  test("before its callback could be called: it is not called", async () => {
    const server = await connected();
    let isCalled = false;
    const request = server.client.locks.request("a", () => {
      isCalled = true;
    });
    await settle();
    const { id } = server.end().one("acquire");
    await server.end().sayBatch(grantOf(id, "a"), { t: "lost", id, key: "a", reason: "stolen" });
    expect(await outcome(request)).toMatchObject({ name: "AbortError", cause: { reason: "stolen" } });
    expect(isCalled).toBe(false);
  });
});

describe("a request of client.locks", () => {
  test("asks for a claim of its own each time, without end, and never nests", async () => {
    const server = await connected();
    const { request, end } = await holding(server, "a");
    server.client.locks.request("a", () => undefined).catch(() => undefined);
    await settle();
    const { id: _id, ...frame } = server.end().one("acquire");
    expect(frame).toEqual({ t: "acquire", key: "a", mode: "exclusive" });
    end("saved");
    await settle();
    const release = server.end().one("release");
    await server.end().say({ t: "released", id: release.id, depth: 0 });
    expect(await outcome(request)).toBe("saved");
  });

  test("that is aborted when its grant is on the way gives the lock back, and no callback runs", async () => {
    const server = await connected();
    const controller = new AbortController();
    let isCalled = false;
    const request = server.client.locks.request("a", { signal: controller.signal }, () => {
      isCalled = true;
    });
    await settle();
    const { id } = server.end().one("acquire");
    controller.abort("enough");
    expect(await outcome(request)).toBe("enough");
    expect(server.end().one("cancel")).toMatchObject({ id });
    await server.end().say(grantOf(id, "a"));
    expect(server.end().one("release")).toMatchObject({ key: "a", token: `token-${id}` });
    expect(isCalled).toBe(false);
  });

  test("settles once the server has the release, not before", async () => {
    const server = await connected();
    const { request, end } = await holding(server, "a");
    end("saved");
    expect(await outcome(request)).toBe("pending");
    await server.end().say({ t: "released", id: server.end().one("release").id, depth: 0 });
    expect(await outcome(request)).toBe("saved");
  });

  test("that is only for an available lock rejects when nobody can say, and its callback does not run", async () => {
    const server = await connected();
    await server.end().drop();
    let isCalled = false;
    const request = server.client.locks.request("a", { ifAvailable: true }, () => {
      isCalled = true;
    });
    expect(await outcome(request)).toBe("pending");
    await server.time.advance(10_000);
    expect(await outcome(request)).toBeInstanceOf(UnavailableError);
    expect(isCalled).toBe(false);
  });

  test("waits for the connection, and is asked again on the next one", async () => {
    const server = await connected();
    const request = server.client.locks.request("a", () => "ran");
    await settle();
    await server.end().drop();
    expect(await outcome(request)).toBe("pending");
    await server.client.close();
    expect(await outcome(request)).toMatchObject({ code: "session_closed" });
  });
});

test("query puts all pages together, and who has no session has an empty id", async () => {
  const server = await connected();
  const querying = server.client.locks.query();
  const first = server.end().one("list");
  expect(first).toMatchObject({ count: 100, queue: true });
  const holder = { mode: "exclusive", fence: 1, since: 1 } as const;
  const a = {
    key: "a",
    status: "held",
    holders: [holder],
    waiting: 1,
    queue: [{ session: "s", mode: "shared" }],
  } as const;
  await server.end().say({ t: "list", id: first.id, keys: [a], next: "a" });
  const second = server.end().one("list");
  expect(second).toMatchObject({ after: "a" });
  const b = { key: "b", status: "held", holders: [{ ...holder, session: "t" }], waiting: 0, queue: [] } as const;
  await server.end().say({ t: "list", id: second.id, keys: [b] });
  expect(await querying).toEqual({
    held: [
      { name: "a", mode: "exclusive", clientId: "" },
      { name: "b", mode: "exclusive", clientId: "t" },
    ],
    pending: [{ name: "a", mode: "shared", clientId: "s" }],
  });
});
