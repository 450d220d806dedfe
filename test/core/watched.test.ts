import { expect, it } from "vitest";
import { Engine, Outbox } from "../../src/core/index.ts";
import { Space } from "./space.ts";

it("nothing is noted of what changed while nobody watches", () => {
  const space = new Space();
  space.open("a");
  space.acquire("a", "1", "k");
  expect(space.touched).toEqual([]);
});

it("a key is touched when somebody holds, waits, leaves, or has another lease", () => {
  const space = new Space({}, { isWatched: true });
  space.open("a");
  space.open("b");
  expect(space.touched).toEqual([]);
  space.acquire("a", "1", "k", { ttlMs: 1000 });
  expect(space.touched).toEqual(["k"]);
  space.acquire("b", "1", "k");
  expect(space.touched).toEqual(["k"]);
  space.extend("a", "k", "a/1", 2000);
  expect(space.touched).toEqual(["k"]);
  space.acquire("a", "2", "k", { token: "a/1", ttlMs: 5000 });
  expect(space.touched).toEqual(["k"]);
  space.acquire("a", "3", "k", { token: "a/1", ttlMs: 100 });
  expect(space.touched).toEqual([]);
  space.status("k");
  expect(space.touched).toEqual([]);
  space.at(5000);
  expect(space.touched).toEqual(["k"]);
  space.drop("b");
  expect(space.touched).toEqual(["k"]);
});

it("a kept lock that goes on without its session touches its key: nobody is shown as its session any more", () => {
  const space = new Space({}, { isWatched: true });
  space.open("a");
  space.acquire("a", "1", "k", { ttlMs: 1000, keep: true });
  space.drop("a");
  expect(space.touched).toEqual(["k"]);
  expect(space.status("k").holders[0]?.session).toBeUndefined();
});

it("a status tells the places of the sessions that were asked about, each by its first waiting claim, in queue order", () => {
  const space = new Space();
  for (const session of ["a", "b", "c"]) space.open(session);
  space.acquire("a", "1", "k");
  space.acquire("b", "1", "k");
  space.acquire("c", "1", "k");
  space.acquire("b", "2", "k");
  expect(space.status("k", ["c", "a", "b", "nobody"]).places).toEqual([
    { session: "b", position: 1 },
    { session: "c", position: 2 },
  ]);
  expect(space.status("k", ["a"])).not.toHaveProperty("places");
  expect(space.status("k")).not.toHaveProperty("places");
});

it("a listing tells the places as a status does", () => {
  const space = new Space();
  space.open("a");
  space.acquire("@", "1", "k1");
  space.acquire("a", "1", "k1");
  space.acquire("@", "2", "k2");
  const [listed] = space.step({ kind: "list", from: "@", request: "l", prefix: "k", countMax: 10, of: ["a"] });
  const keys = listed?.kind === "list" ? listed.keys : [];
  expect(keys.map(({ key, places }) => [key, places])).toEqual([
    ["k1", [{ session: "a", position: 1 }]],
    ["k2", undefined],
  ]);
});

it("who is behind a session stands beside it wherever it is shown as a holder", () => {
  const space = new Space();
  space.step({ kind: "open", session: "a", secret: "x", graceMs: 0, user: "ada" });
  space.acquire("a", "1", "k");
  expect(space.status("k").holders[0]).toMatchObject({ session: "a", user: "ada" });
});

it("the keys of several steps gather until the outbox is cleared", () => {
  const engine = new Engine();
  const outbox = new Outbox();
  outbox.isWatched = true;
  const acquire = { kind: "acquire", from: "@", session: false, mode: "exclusive", ttlMs: 1000 } as const;
  engine.step({ ...acquire, request: "1", key: "a", newToken: "1" }, 0, outbox);
  engine.step({ ...acquire, request: "2", key: "b", newToken: "2" }, 0, outbox);
  expect([...outbox.touched]).toEqual(["a", "b"]);
  outbox.clear();
  expect(outbox.touched.size).toBe(0);
});
