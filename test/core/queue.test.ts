import { describe, expect, test } from "vitest";
import { lines, Space } from "./space.ts";

function threeSessions(): Space {
  const space = new Space();
  for (const session of ["A", "B", "C", "D", "E"]) space.open(session);
  return space;
}

describe("order", () => {
  test("a release grants the waiter that came first, in the same step", () => {
    const space = threeSessions();
    expect(lines(space.acquire("A", "1", "k"))).toEqual(["A 1: granted"]);
    expect(lines(space.acquire("B", "1", "k"))).toEqual(["B 1: queued 1"]);
    expect(lines(space.acquire("C", "1", "k"))).toEqual(["C 1: queued 2"]);
    expect(lines(space.release("A", "k", "A/1", "x"))).toEqual(["A 1: released", "B 1: granted", "A x: released to 0"]);
    expect(lines(space.release("B", "k", "B/1", "x"))).toEqual(["B 1: released", "C 1: granted", "B x: released to 0"]);
  });

  test("the last holder does not overtake who waits", () => {
    const space = threeSessions();
    space.acquire("A", "1", "k");
    space.acquire("B", "1", "k");
    space.release("A", "k", "A/1");
    expect(lines(space.acquire("A", "2", "k"))).toEqual(["A 2: queued 1"]);
  });

  test("a reader does not overtake a queued writer", () => {
    const space = threeSessions();
    space.acquire("A", "1", "k", { mode: "shared" });
    space.acquire("B", "1", "k", { mode: "exclusive" });
    expect(lines(space.acquire("C", "1", "k", { mode: "shared" }))).toEqual(["C 1: queued 2"]);
  });

  test("a try fails when somebody waits, even where the key could be shared", () => {
    const space = threeSessions();
    space.acquire("A", "1", "k", { mode: "shared" });
    space.acquire("B", "1", "k");
    expect(lines(space.acquire("C", "1", "k", { mode: "shared", timeoutMs: 0 }))).toEqual(["C 1: timed_out"]);
    expect(space.status("k")).toMatchObject({ waiting: 1 });
  });

  test("a granted reader takes the run of readers behind it along, up to the next writer", () => {
    const space = threeSessions();
    space.acquire("A", "1", "k");
    space.acquire("B", "1", "k", { mode: "shared" });
    space.acquire("C", "1", "k", { mode: "shared" });
    space.acquire("D", "1", "k");
    space.acquire("E", "1", "k", { mode: "shared" });
    expect(lines(space.release("A", "k", "A/1", "x"))).toEqual([
      "A 1: released",
      "B 1: granted",
      "C 1: granted",
      "A x: released to 0",
    ]);
  });

  test("keys have no prefix meaning and are not normalised", () => {
    const space = threeSessions();
    for (const key of ["/foo", "/foobar", "", " ", "\0", "\u00e9", "e\u0301", "\ud800", "\ud801", "\ufffd"]) {
      expect(lines(space.acquire("A", `of ${JSON.stringify(key)}`, key))).toEqual([
        `A of ${JSON.stringify(key)}: granted`,
      ]);
    }
  });
});

describe("leaving the queue", () => {
  test("readers behind a cancelled writer are granted at once", () => {
    const space = threeSessions();
    space.acquire("A", "1", "k", { mode: "shared" });
    space.acquire("B", "1", "k");
    space.acquire("C", "1", "k", { mode: "shared" });
    expect(lines(space.cancel("B", "1"))).toEqual(["B 1: cancelled", "C 1: granted"]);
  });

  test("a waiter that times out leaves in that step and never gets a turn", () => {
    const space = threeSessions();
    space.acquire("A", "1", "k");
    space.acquire("B", "1", "k", { timeoutMs: 100 });
    space.acquire("C", "1", "k");
    space.now = 99;
    expect(space.status("k").waiting).toBe(2);
    space.now = 100;
    expect(space.status("k").waiting).toBe(1);
    expect(lines(space.release("A", "k", "A/1", "x"))).toContain("C 1: granted");
  });

  test("readers behind a writer that times out are granted at once", () => {
    const space = threeSessions();
    space.acquire("A", "1", "k", { mode: "shared" });
    space.acquire("B", "1", "k", { timeoutMs: 100 });
    space.acquire("C", "1", "k", { mode: "shared" });
    expect(lines(space.at(100))).toEqual(["B 1: timed_out", "C 1: granted"]);
  });

  test("a cancel that comes after the grant releases", () => {
    const space = threeSessions();
    space.acquire("A", "1", "k");
    space.acquire("B", "1", "k");
    expect(lines(space.cancel("A", "1"))).toEqual(["A 1: cancelled", "B 1: granted"]);
    expect(lines(space.release("A", "k", "A/1", "x"))).toEqual(["A x: released to 0 already"]);
  });

  test("a cancel of something unknown or over does nothing", () => {
    const space = threeSessions();
    expect(space.cancel("A", "never")).toEqual([]);
    space.acquire("A", "1", "k");
    space.release("A", "k", "A/1");
    expect(space.cancel("A", "1")).toEqual([]);
  });
});

describe("semaphores", () => {
  test("at most `limit` hold together, the next waits for a release", () => {
    const space = threeSessions();
    const two = { mode: "shared", limit: 2 } as const;
    expect(lines(space.acquire("A", "1", "k", two))).toEqual(["A 1: granted"]);
    expect(lines(space.acquire("B", "1", "k", two))).toEqual(["B 1: granted"]);
    expect(lines(space.acquire("C", "1", "k", two))).toEqual(["C 1: queued 1"]);
    expect(lines(space.release("B", "k", "B/1", "x"))).toEqual(["B 1: released", "C 1: granted", "B x: released to 0"]);
  });

  test("the first live claim fixes the limit; another one is refused until the key is free", () => {
    const space = threeSessions();
    space.acquire("A", "1", "k", { mode: "shared", limit: 2 });
    expect(lines(space.acquire("B", "1", "k", { mode: "shared", limit: 3 }))).toEqual(["B 1: refused limit_mismatch"]);
    expect(lines(space.acquire("B", "2", "k", { mode: "shared" }))).toEqual(["B 2: refused limit_mismatch"]);
    expect(lines(space.acquire("B", "3", "k"))).toEqual(["B 3: refused limit_mismatch"]);
    space.release("A", "k", "A/1");
    expect(lines(space.acquire("B", "4", "k", { mode: "shared", limit: 3 }))).toEqual(["B 4: granted"]);
  });
});

describe("steal and revoke", () => {
  test("steal takes the key from every holder at once, tells who, and leaves the queue alone", () => {
    const space = threeSessions();
    space.open("M", 0, '{"user":"mallory"}');
    space.acquire("A", "1", "k", { mode: "shared" });
    space.acquire("B", "1", "k", { mode: "shared" });
    space.acquire("C", "1", "k");
    const effects = space.acquire("M", "1", "k", { steal: true, message: "fire" });
    expect(lines(effects)).toEqual(["A 1: stolen", "B 1: stolen", "M 1: granted"]);
    expect(effects[0]).toMatchObject({ by: { session: "M", meta: '{"user":"mallory"}', message: "fire" } });
    expect(lines(space.release("A", "k", "A/1", "x"))).toEqual(["A x: lost, stolen"]);
    expect(lines(space.release("M", "k", "M/1", "x"))).toContain("C 1: granted");
  });

  test("revoke ends the holders of a key and the next is granted", () => {
    const space = threeSessions();
    space.acquire("A", "1", "k");
    space.acquire("B", "1", "k");
    const effects = space.step({ kind: "revoke_key", from: "@", request: "op", key: "k", message: "stuck" });
    expect(lines(effects)).toEqual(["A 1: revoked", "@ op: revoked 1", "B 1: granted"]);
    expect(effects[0]).toMatchObject({ by: { message: "stuck" } });
  });

  test("revoking a session ends all that it has, kept locks too", () => {
    const space = threeSessions();
    space.acquire("A", "1", "k");
    space.acquire("A", "2", "kept", { keep: true, ttlMs: 1000 });
    space.acquire("B", "1", "other");
    space.acquire("A", "3", "other");
    expect(lines(space.step({ kind: "revoke_session", from: "@", request: "op", session: "A" }))).toEqual([
      "A 3: revoked",
      "A 1: revoked",
      "A 2: revoked",
      "A: session ended, revoked",
      "@ op: revoked 3",
    ]);
  });
});
