import { describe, expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../src/core/index.ts";
import { lines, Space } from "./space.ts";

describe("limits, at the limit and one past it", () => {
  test("waiters of one key: the 100 000th is queued, the next is refused and nothing changes", () => {
    const space = new Space({ limits: { callerClaimsMax: 1_000_000 } });
    space.acquire("@a", "holder", "k");
    for (let i = 1; i <= DEFAULT_LIMITS.waitersPerKeyMax; i++) space.acquire("@a", `${i}`, "k");
    expect(space.status("k").waiting).toBe(100_000);
    expect(lines(space.acquire("@a", "one more", "k"))).toEqual(["@a one more: refused limit waiters_per_key"]);
    expect(space.status("k").waiting).toBe(100_000);
    expect(lines(space.release("@a", "k", "@a/holder", "x"))).toContain("@a 1: granted");
    expect(lines(space.acquire("@a", "one more", "k"))).toEqual(["@a one more: queued 100000"]);
  });

  test("keys: no live lock is evicted to make room", () => {
    const space = new Space({ limits: { keysMax: 2 } });
    space.acquire("@a", "1", "k");
    space.acquire("@a", "2", "l");
    expect(lines(space.acquire("@a", "3", "m"))).toEqual(["@a 3: refused limit keys"]);
    expect(lines(space.acquire("@a", "4", "l"))).toEqual(["@a 4: queued 1"]);
    expect(space.status("k").holders).toHaveLength(1);
  });

  test("claims of a session: waiting and holding together", () => {
    const space = new Space({ limits: { claimsPerSessionMax: 2 } });
    space.open("A");
    space.acquire("@x", "1", "k");
    space.acquire("A", "1", "k");
    space.acquire("A", "2", "l");
    expect(lines(space.acquire("A", "3", "m"))).toEqual(["A 3: refused limit claims_per_session"]);
    space.cancel("A", "1");
    expect(lines(space.acquire("A", "3", "m"))).toEqual(["A 3: granted"]);
  });

  test("a kept lock of an ended session counts for no session", () => {
    const space = new Space({ limits: { claimsPerSessionMax: 1, callerClaimsMax: 1 } });
    space.open("A");
    space.acquire("A", "1", "k", { keep: true, ttlMs: 1000 });
    space.drop("A");
    expect(lines(space.acquire("@x", "1", "l"))).toEqual(["@x 1: granted"]);
    expect(lines(space.acquire("@x", "2", "m"))).toEqual(["@x 2: refused limit caller_claims"]);
  });

  test("sessions", () => {
    const space = new Space({ limits: { sessionsMax: 1 } });
    expect(lines(space.open("A"))).toEqual(["A: opened"]);
    expect(lines(space.open("B"))).toEqual(["B: refused limit sessions"]);
    space.drop("A");
    expect(lines(space.open("B"))).toEqual(["B: opened"]);
  });

  test("a queue that is listed: the first hundred of those who wait", () => {
    const space = new Space();
    space.acquire("@a", "holder", "k");
    for (let i = 1; i <= 100; i++) space.acquire("@a", `${i}`, "k", { mode: "shared" });
    const queue = (): unknown[] | undefined => {
      const told = space.step({ kind: "list", from: "@a", request: "q", prefix: "", countMax: 1, queue: true })[0];
      return told?.kind === "list" ? [...(told.keys[0]?.queue ?? [])] : undefined;
    };
    expect(queue()).toEqual(Array.from({ length: 100 }, () => ({ mode: "shared" })));
    space.acquire("@a", "one more", "k");
    expect(queue()).toHaveLength(100);
    expect(space.status("k").waiting).toBe(101);
  });

  test("fences end before they stop being safe integers", () => {
    const space = new Space({ serial: Number.MAX_SAFE_INTEGER - 1 });
    expect(() => space.acquire("@a", "1", "k")).toThrow("run out of fences");
  });
});
