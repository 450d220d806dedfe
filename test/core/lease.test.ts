import { describe, expect, test } from "vitest";
import { lines, Space } from "./space.ts";

describe("expiry", () => {
  test("never early, and at the deadline the next waiter is granted in that step", () => {
    const space = new Space();
    space.acquire("@a", "1", "k", { ttlMs: 100 });
    space.acquire("@b", "1", "k");
    expect(space.at(99.999)).toEqual([]);
    expect(lines(space.at(100))).toEqual(["@a 1: expired", "@b 1: granted"]);
  });

  test("the ttl counts from the grant, not from the request", () => {
    const space = new Space();
    space.acquire("@a", "1", "k", { ttlMs: 1000 });
    space.acquire("@b", "1", "k", { ttlMs: 1000 });
    space.now = 900;
    expect(space.release("@a", "k", "@a/1")[1]).toMatchObject({ kind: "granted", expiresAt: 1900 });
  });

  test("a late timer never lets an expired holder act: extend, release and re-entry are lost", () => {
    const space = new Space();
    space.acquire("@a", "1", "k", { ttlMs: 100 });
    space.now = 100;
    expect(lines(space.extend("@a", "k", "@a/1", 1000))).toEqual(["@a 1: expired", "@a extend 1: lost, expired"]);
    expect(lines(space.acquire("@a", "2", "k", { token: "@a/1" }))).toEqual(["@a 2: lost, expired"]);
    expect(lines(space.release("@a", "k", "@a/1", "x"))).toEqual(["@a x: lost, expired"]);
    expect(space.status("k")).toMatchObject({ holders: [], waiting: 0 });
  });

  test("a lease that ends as its next waiter gives up still passes to that waiter: the earlier arrival is served first", () => {
    const space = new Space();
    space.acquire("@a", "1", "k", { ttlMs: 100 });
    space.acquire("@b", "1", "k", { timeoutMs: 100 });
    expect(lines(space.at(100))).toEqual(["@a 1: expired", "@b 1: granted"]);
  });

  test("a waiter whose time was over before a late timer fired is not granted", () => {
    const space = new Space();
    space.acquire("@a", "1", "k", { ttlMs: 100 });
    space.acquire("@b", "1", "k", { timeoutMs: 500 });
    space.acquire("@c", "1", "k", { timeoutMs: 2000 });
    expect(lines(space.at(1000))).toEqual(["@a 1: expired", "@b 1: timed_out", "@c 1: granted"]);
  });

  test("a waiter of a session whose grace was over before a late timer fired is not granted", () => {
    const space = new Space();
    space.acquire("@a", "1", "k", { ttlMs: 500 });
    space.open("S", 600);
    space.acquire("S", "1", "k");
    space.acquire("@c", "1", "k", { timeoutMs: 5000 });
    space.drop("S");
    expect(lines(space.at(1000))).toEqual([
      "@a 1: expired",
      "S 1: dropped",
      "@c 1: granted",
      "S: session ended, dropped",
    ]);
  });

  test("time that runs backwards counts as standing still", () => {
    const space = new Space();
    space.at(1000);
    space.now = 0;
    expect(space.acquire("@a", "1", "k", { ttlMs: 100 })[0]).toMatchObject({ expiresAt: 1100 });
  });

  test("the alarm follows when an earlier deadline arrives", () => {
    const space = new Space();
    space.acquire("@a", "1", "far", { ttlMs: 10_000 });
    expect(space.engine.nextDeadline()).toBe(10_000);
    space.acquire("@a", "2", "near", { ttlMs: 100 });
    expect(space.engine.nextDeadline()).toBe(100);
  });
});

describe("extend", () => {
  test("sets the deadline to now + ttl, longer or shorter, and keeps the fence", () => {
    const space = new Space();
    const [granted] = space.acquire("@a", "1", "k", { ttlMs: 10_000 });
    space.now = 500;
    const [extended] = space.extend("@a", "k", "@a/1", 1000);
    expect(extended).toMatchObject({ kind: "extended", expiresAt: 1500, ttlMs: 1000 });
    expect(extended).toMatchObject({ fence: (granted as { fence: number }).fence });
    expect(lines(space.at(1500))).toEqual(["@a 1: expired"]);
  });

  test("gives a session's claim a lease, which ends before the session does", () => {
    const space = new Space();
    space.open("A");
    space.acquire("A", "1", "k");
    space.extend("A", "k", "A/1", 100);
    expect(lines(space.at(100))).toEqual(["A 1: expired"]);
  });
});

describe("fences", () => {
  test("rise over all grants of a space, also after everything is forgotten, and go on above the given serial", () => {
    const space = new Space({ serial: 7_000 });
    let highest = 7_000;
    for (let round = 0; round < 5; round++) {
      const [granted] = space.acquire("@a", `${round}`, `k${round % 2}`, { ttlMs: 100 });
      expect(granted).toMatchObject({ kind: "granted" });
      const { fence } = granted as { fence: number };
      expect(fence).toBeGreaterThan(highest);
      highest = fence;
      space.at(space.now + 100);
      space.at(space.now + 200_000);
      expect(space.engine.counts().remembered).toBe(0);
    }
  });
});

describe("quarantine", () => {
  test("nothing is granted before its end; then every key is, in order of arrival", () => {
    const space = new Space({ quarantineUntil: 1000 });
    space.open("A");
    expect(lines(space.acquire("A", "1", "k"))).toEqual(["A 1: queued 1"]);
    expect(lines(space.acquire("A", "2", "l"))).toEqual(["A 2: queued 1"]);
    expect(lines(space.acquire("A", "3", "m", { timeoutMs: 0 }))).toEqual(["A 3: timed_out"]);
    expect(space.engine.nextDeadline()).toBe(1000);
    expect(lines(space.at(1000))).toEqual(["A 1: granted", "A 2: granted"]);
    expect(space.engine.counts().keys).toBe(2);
  });
});

describe("memory", () => {
  test("an ended token is remembered max(2 × ttl, 60 s), then unknown", () => {
    const space = new Space();
    space.acquire("@a", "1", "short", { ttlMs: 100 });
    space.acquire("@a", "2", "long", { ttlMs: 100_000 });
    space.release("@a", "short", "@a/1");
    space.release("@a", "long", "@a/2");
    space.now = 59_999;
    expect(lines(space.release("@a", "short", "@a/1", "x"))).toEqual(["@a x: released to 0 already"]);
    space.now = 60_000;
    expect(lines(space.release("@a", "short", "@a/1", "x"))).toEqual(["@a x: refused unknown_token"]);
    space.now = 199_999;
    expect(lines(space.release("@a", "long", "@a/2", "x"))).toEqual(["@a x: released to 0 already"]);
    space.now = 200_000;
    expect(lines(space.release("@a", "long", "@a/2", "x"))).toEqual(["@a x: refused unknown_token"]);
    expect(space.engine.counts()).toEqual({
      claims: 0,
      waiting: 0,
      holding: 0,
      keys: 0,
      sessions: 0,
      deadlines: 0,
      tokens: 0,
      remembered: 0,
      requests: 0,
    });
  });

  test("a claim whose lease was long is forgotten in time, too, while later leases run on", () => {
    const space = new Space();
    for (const key of ["k", "l", "m"]) space.acquire("@a", key, key, { ttlMs: 40_000 });
    space.release("@a", "k", "@a/k");
    for (const key of ["l", "m"]) space.extend("@a", key, `@a/${key}`, 1_000_000);
    space.at(79_999);
    expect(space.engine.counts()).toMatchObject({ remembered: 1, holding: 2 });
    expect(space.engine.nextDeadline()).toBe(80_000);
    space.at(80_000);
    expect(space.engine.counts()).toMatchObject({ remembered: 0, holding: 2 });
    expect(space.engine.nextDeadline()).toBe(1_000_000);
  });

  test("the number remembered is bounded: the one that ended first is forgotten", () => {
    const space = new Space({ limits: { endedMax: 2 } });
    for (const request of ["1", "2", "3"]) {
      space.acquire("@a", request, "k");
      space.release("@a", "k", `@a/${request}`);
    }
    expect(lines(space.release("@a", "k", "@a/1", "x"))).toEqual(["@a x: refused unknown_token"]);
    expect(lines(space.release("@a", "k", "@a/2", "x"))).toEqual(["@a x: released to 0 already"]);
    expect(space.engine.counts()).toMatchObject({ remembered: 2, tokens: 2, requests: 2 });
  });
});
