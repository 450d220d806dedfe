import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { connected, grantOf, greet, scripted } from "./support/scripted-server.ts";
import { outcome, settle } from "./support/virtual-time.ts";

// What is loaded when it is asked for, and the network is away.

const PARTS = ["access", "lock-set", "resume", "told", "watching"] as const;

beforeAll(() => {
  for (const part of PARTS) {
    vi.doMock(`../../src/client/${part}.ts`, () => {
      throw new Error("offline");
    });
  }
});

afterAll(() => {
  for (const part of PARTS) vi.doUnmock(`../../src/client/${part}.ts`);
});

test("a listener that cannot hear who wants the lock is told to onError, and the lock is held", async () => {
  const server = await connected();
  const acquiring = server.client.acquire("a");
  await settle();
  await server.end().say(grantOf(server.end().one("acquire").id, "a"));
  const lock = await acquiring;
  lock.addEventListener("contended", () => undefined);
  await vi.waitFor(() => expect(server.errors).toMatchObject([{ where: "watch" }]));
  expect(lock.signal.aborted).toBe(false);
});

test("a call rejects whose part cannot be loaded, and an error of the work's lets the lock go", async () => {
  const server = await connected();
  expect(await outcome(server.client.requestAccess("a"))).toBeInstanceOf(Error);
  const looking = [server.client.status("a"), server.client.list()];
  await settle();
  for (const text of server.end().texts.splice(0)) {
    for (const { id, t } of [JSON.parse(text)].flat() as { id: string; t: "status" | "list" }[]) {
      await server.end().say(JSON.stringify({ t, id, key: "a", status: "free", holders: [], waiting: 0, keys: [] }));
    }
  }
  for (const look of looking) expect(await outcome(look)).toBeInstanceOf(Error);
  const working = server.client.withLock(["a", "b"], () => "worked");
  await settle();
  await server.end().say(grantOf(server.end().one("acquire").id, "a"));
  await vi.waitFor(() => expect(server.end().texts).toHaveLength(1));
  await server.end().say({ t: "released", id: server.end().one("release").id, depth: 0 });
  expect(await outcome(working)).toBeInstanceOf(Error);
});

test("a watch that cannot be loaded is told to onError, and is over for who reads it, then and later", async () => {
  const server = await connected();
  const watch = server.client.watch("a");
  await expect(Array.fromAsync(watch)).rejects.toMatchObject({ cause: { message: "offline" } });
  await vi.waitFor(() => expect(server.errors).toMatchObject([{ where: "watch" }]));
  vi.doUnmock("../../src/client/watching.ts");
  await expect(Array.fromAsync(watch)).rejects.toMatchObject({ cause: { message: "offline" } });
});

test("a client that asked for a grace tries again until it is loaded, and no other needs it", async () => {
  const server = await scripted({ grace: 5_000 });
  await vi.waitFor(() => expect(server.errors).toMatchObject([{ where: "connect" }]));
  expect(server.ends).toEqual([]);
  vi.doUnmock("../../src/client/resume.ts");
  await server.time.advance(250);
  await vi.waitFor(() => expect(server.ends).toHaveLength(1));
  expect(await greet(server, { grace: 5_000 })).toMatchObject({ grace: 5_000 });
});
