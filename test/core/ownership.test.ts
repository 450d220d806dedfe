import { describe, expect, test } from "vitest";
import { lines, Space } from "./space.ts";

describe("re-entry", () => {
  test("never queues, whoever waits; same token, same fence, the longer lease", () => {
    const space = new Space();
    const [granted] = space.acquire("@a", "1", "k", { ttlMs: 1000 });
    space.acquire("@b", "1", "k");
    const again = space.acquire("@a", "2", "k", { token: "@a/1", ttlMs: 5000 });
    expect(lines(again)).toEqual(["@a 2: granted again, depth 1"]);
    expect(again[0]).toMatchObject({ token: "@a/1", fence: (granted as { fence: number }).fence, expiresAt: 5000 });
  });

  test("a shorter ttl does not shorten the lease", () => {
    const space = new Space();
    space.acquire("@a", "1", "k", { ttlMs: 5000 });
    expect(space.acquire("@a", "2", "k", { token: "@a/1", ttlMs: 100 })[0]).toMatchObject({
      expiresAt: 5000,
      ttlMs: 5000,
    });
  });

  test("a claim whose session is its lease stays so", () => {
    const space = new Space();
    space.open("A");
    space.acquire("A", "1", "k");
    const [granted] = space.acquire("A", "2", "k", { token: "A/1", ttlMs: 100 });
    expect(granted).not.toHaveProperty("expiresAt");
    expect(space.at(1000)).toEqual([]);
  });

  test("without nest one release frees the key; with nest as many as acquires", () => {
    const space = new Space();
    space.acquire("@a", "1", "k");
    space.acquire("@a", "2", "k", { token: "@a/1" });
    space.acquire("@a", "3", "k", { token: "@a/1", nest: true });
    expect(lines(space.release("@a", "k", "@a/1", "x"))).toEqual(["@a x: released to 1"]);
    expect(lines(space.release("@a", "k", "@a/1", "y"))).toEqual(["@a 1: released", "@a y: released to 0"]);
  });

  test("a repeated nested acquire or release counts once", () => {
    const space = new Space();
    space.acquire("@a", "1", "k");
    for (let i = 0; i < 2; i++) {
      expect(lines(space.acquire("@a", "2", "k", { token: "@a/1", nest: true }))).toEqual([
        "@a 2: granted again, depth 2",
      ]);
    }
    space.acquire("@a", "3", "k", { token: "@a/1", nest: true });
    expect(lines(space.release("@a", "k", "@a/1", "x"))).toEqual(["@a x: released to 2"]);
    expect(lines(space.release("@a", "k", "@a/1", "x"))).toEqual(["@a x: released to 2 already"]);
  });

  test("depth 64 is reached, 65 is refused", () => {
    const space = new Space();
    space.acquire("@a", "1", "k");
    for (let depth = 2; depth <= 64; depth++) {
      expect(space.acquire("@a", `n${depth}`, "k", { token: "@a/1", nest: true })[0]).toMatchObject({ depth });
    }
    expect(lines(space.acquire("@a", "n65", "k", { token: "@a/1", nest: true }))).toEqual([
      "@a n65: refused depth_limit",
    ]);
  });

  test("a token that no longer holds is lost and does not become a fresh claim", () => {
    const space = new Space();
    space.acquire("@a", "1", "k");
    space.release("@a", "k", "@a/1");
    expect(lines(space.acquire("@a", "2", "k", { token: "@a/1" }))).toEqual(["@a 2: lost, released"]);
    expect(lines(space.acquire("@a", "3", "k", { token: "never seen" }))).toEqual(["@a 3: lost, unknown"]);
    expect(space.status("k").holders).toEqual([]);
  });
});

describe("tokens", () => {
  test("a stale token never touches the next holder", () => {
    const space = new Space();
    space.acquire("@a", "1", "k", { ttlMs: 100 });
    space.acquire("@b", "1", "k");
    space.now = 100;
    expect(lines(space.release("@a", "k", "@a/1", "x"))).toEqual([
      "@a 1: expired",
      "@b 1: granted",
      "@a x: lost, expired",
    ]);
    expect(lines(space.extend("@a", "k", "@a/1", 1000))).toEqual(["@a extend 1: lost, expired"]);
    expect(space.status("k").holders).toMatchObject([{ expiresAt: 30_100 }]);
  });

  test("a token of another key is unknown and changes nothing", () => {
    const space = new Space();
    space.acquire("@a", "1", "k");
    space.acquire("@b", "1", "l");
    expect(lines(space.release("@a", "l", "@a/1", "x"))).toEqual(["@a x: refused unknown_token"]);
    expect(lines(space.extend("@a", "l", "@a/1", 100))).toEqual(["@a extend 1: refused unknown_token"]);
    expect(space.status("l").holders).toHaveLength(1);
    expect(space.status("k").holders).toHaveLength(1);
  });

  test("the token of a waiting claim is not known yet", () => {
    const space = new Space();
    space.acquire("@a", "1", "k");
    space.acquire("@b", "1", "k");
    expect(lines(space.release("@b", "k", "@b/1", "x"))).toEqual(["@b x: refused unknown_token"]);
  });

  test("a release by somebody else who shows the token tells the owner who it was", () => {
    const space = new Space();
    space.open("A");
    space.open("B", 0, '"bob"');
    space.acquire("A", "1", "k");
    expect(space.release("B", "k", "A/1")[0]).toMatchObject({
      kind: "ended",
      to: "A",
      by: { session: "B", meta: '"bob"' },
    });
  });
});

describe("request ids", () => {
  test("the same id with the same arguments is the same claim: same place, and the wait goes on", () => {
    const space = new Space();
    space.acquire("@a", "1", "k");
    space.acquire("@b", "1", "k", { timeoutMs: 1000 });
    space.acquire("@c", "1", "k");
    space.now = 600;
    expect(lines(space.acquire("@b", "1", "k", { timeoutMs: 1000, newToken: "another" }))).toEqual(["@b 1: queued 1"]);
    expect(lines(space.at(1000))).toEqual(["@b 1: timed_out"]);
    expect(lines(space.acquire("@b", "1", "k", { timeoutMs: 1000 }))).toEqual(["@b 1: timed_out (again)"]);
  });

  test("the same id after the grant shows the same grant", () => {
    const space = new Space();
    const [first] = space.acquire("@a", "1", "k");
    expect(space.acquire("@a", "1", "k", { newToken: "another" })).toEqual([first]);
  });

  test("the same id after the end tells the end and takes nothing", () => {
    const space = new Space();
    space.acquire("@a", "1", "k");
    space.release("@a", "k", "@a/1");
    expect(lines(space.acquire("@a", "1", "k"))).toEqual(["@a 1: released (again)"]);
    expect(space.status("k").holders).toEqual([]);
  });

  test("other arguments under the same id are refused and change nothing", () => {
    const space = new Space();
    space.acquire("@a", "1", "k");
    for (const other of [
      { ttlMs: 1 },
      { timeoutMs: 1 },
      { mode: "shared" },
      { meta: "1" },
      { token: "t" },
      { steal: true },
    ] as const) {
      expect(lines(space.acquire("@a", "1", "k", other))).toEqual(["@a 1: refused request_mismatch"]);
    }
    expect(lines(space.acquire("@a", "1", "l"))).toEqual(["@a 1: refused request_mismatch"]);
  });

  test("ids of different scopes and sessions do not meet", () => {
    const space = new Space();
    space.open("A");
    space.acquire("@a", "1", "k");
    expect(lines(space.acquire("@b", "1", "l"))).toEqual(["@b 1: granted"]);
    expect(lines(space.acquire("A", "1", "m"))).toEqual(["A 1: granted"]);
  });

  test("after a hang-up the id is free: the repeat is a fresh claim", () => {
    const space = new Space();
    space.acquire("@a", "1", "k");
    space.acquire("@b", "1", "k");
    expect(lines(space.cancel("@b", "1", true))).toEqual(["@b 1: cancelled"]);
    expect(lines(space.acquire("@b", "1", "k"))).toEqual(["@b 1: queued 1"]);
    expect(lines(space.cancel("@a", "1", true))).toEqual(["@a 1: cancelled", "@b 1: granted"]);
    expect(lines(space.acquire("@a", "1", "k"))).toEqual(["@a 1: queued 1"]);
  });

  test("a refused request is not remembered", () => {
    const space = new Space({ limits: { keysMax: 1 } });
    space.acquire("@a", "1", "k");
    expect(lines(space.acquire("@a", "2", "l"))).toEqual(["@a 2: refused limit keys"]);
    space.release("@a", "k", "@a/1");
    expect(lines(space.acquire("@a", "2", "l"))).toEqual(["@a 2: granted"]);
  });
});
