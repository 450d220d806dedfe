import { describe, expect, test } from "vitest";
import { Records, told } from "./records.ts";

describe("one runs, the others hear what it came to", () => {
  test("the first begin of a key starts attempt 1, with its token and its lease", () => {
    const records = new Records();
    records.now = 5;
    expect(records.begin("@a", "1", "k", { leaseMs: 1000 })).toEqual([
      {
        kind: "started",
        to: "@a",
        request: "1",
        key: "k",
        attempt: "@a/1",
        number: 1,
        leaseMs: 1000,
        expiresAt: 1005,
      },
    ]);
  });

  test("another one is told how long the running attempt has left", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 1000 });
    records.now = 400;
    expect(told(records.begin("@b", "1", "k"))).toEqual(["@b 1: in progress, 600"]);
    expect(told(records.begin("@b", "1", "other"))).toEqual(["@b 1: started 1"]);
  });

  test("once it is done, every begin gets the stored bytes, content type and number, for as long as its record lives", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { ttlMs: 10_000 });
    records.now = 1000;
    expect(told(records.complete("k", "@a/1", "ticket 7", "text/html"))).toEqual(["@x: completed"]);
    records.now = 10_999;
    const replay = { kind: "replay", to: "@b", request: "1", key: "k", contentType: "text/html", number: 1 };
    expect(records.begin("@b", "1", "k")).toEqual([{ ...replay, result: new TextEncoder().encode("ticket 7") }]);
    records.now = 11_000;
    expect(told(records.begin("@b", "2", "k", { fingerprint: "another" }))).toEqual(["@b 2: started 1"]);
  });

  test("a finished record takes no memory", () => {
    const records = new Records();
    for (let i = 0; i < 100; i++) {
      records.begin("@a", `${i}`, `k${i}`);
      records.complete(`k${i}`, `@a/${i}`);
    }
    expect(records.stored.size).toBe(100);
    expect(records.machine.counts().idempotency).toEqual({ running: 0, waiting: 0, requests: 0, deadlines: 0 });
    expect(records.machine.nextDeadline()).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("fingerprints", () => {
  test("another payload is told so before it is told that anything is in progress, idle or done", () => {
    const records = new Records();
    const other = { fingerprint: "g", waitMs: 100 };
    records.begin("@a", "1", "k", { leaseMs: 100 });
    expect(told(records.begin("@b", "1", "k", other))).toEqual(["@b 1: refused fingerprint_mismatch"]);
    records.at(100);
    expect(told(records.begin("@b", "2", "k", other))).toEqual(["@b 2: refused fingerprint_mismatch"]);
    expect(told(records.begin("@b", "3", "k"))).toEqual(["@b 3: started 2"]);
    records.complete("k", "@b/3");
    expect(told(records.begin("@b", "4", "k", other))).toEqual(["@b 4: refused fingerprint_mismatch"]);
  });

  test("an empty one matches only an empty one", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { fingerprint: "" });
    expect(told(records.begin("@b", "1", "k"))).toEqual(["@b 1: refused fingerprint_mismatch"]);
    expect(told(records.begin("@b", "2", "k", { fingerprint: "" }))).toEqual(["@b 2: in progress, 30000"]);
  });
});

describe("waiting", () => {
  test("who came first starts first, and all the others hear the result in order", () => {
    const records = new Records();
    records.begin("@a", "1", "k");
    expect(told(records.wait("@b", "1", "k"))).toEqual(["@b 1: queued 1"]);
    expect(told(records.wait("@c", "1", "k"))).toEqual(["@c 1: queued 2"]);
    records.wait("@d", "1", "k");
    expect(told(records.fail("k", "@a/1"))).toEqual(["@b 1: started 2", "@x: failed"]);
    expect(told(records.complete("k", "@b/1", "r"))).toEqual([
      "@c 1: replay r of 2",
      "@d 1: replay r of 2",
      "@x: completed",
    ]);
  });

  test("a wait ends at its own deadline, with what the running attempt has left", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 1000 });
    records.begin("@b", "1", "k", { waitMs: 300 });
    expect(records.machine.nextDeadline()).toBe(300);
    expect(told(records.at(299))).toEqual([]);
    expect(told(records.at(300))).toEqual(["@b 1: in progress, 700"]);
  });

  test("an attempt that ends in the instant in which a wait does passes to that waiter", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 500 });
    records.begin("@b", "1", "k", { waitMs: 500 });
    expect(told(records.at(500))).toEqual(["@b 1: started 2"]);
  });

  test("a late timer starts nobody whose wait was over before, and says that nothing is left", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 500 });
    records.begin("@b", "1", "k", { waitMs: 501 });
    records.wait("@c", "1", "k");
    expect(told(records.at(502))).toEqual(["@b 1: in progress, 0", "@c 1: started 2"]);
  });

  test("a late timer that serves a wait's end before the lease's says 0, not less", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 500 });
    records.begin("@b", "1", "k", { waitMs: 400 });
    expect(told(records.at(900))).toEqual(["@b 1: in progress, 0"]);
  });

  test("who cancels leaves the queue", () => {
    const records = new Records();
    records.begin("@a", "1", "k");
    records.wait("@b", "1", "k");
    records.wait("@c", "1", "k");
    expect(told(records.cancel("@b", "1"))).toEqual(["@b 1: in progress, 30000"]);
    expect(told(records.cancel("@b", "1"))).toEqual([]);
    expect(told(records.fail("k", "@a/1"))).toEqual(["@c 1: started 2", "@x: failed"]);
  });

  test("a cancel that crossed the start ends the attempt as a failure", () => {
    const records = new Records();
    records.begin("@a", "1", "k");
    records.wait("@b", "1", "k");
    expect(told(records.cancel("@a", "1"))).toEqual(["@b 1: started 2", "@a 1: failed"]);
    expect(told(records.cancel("@b", "1"))).toEqual(["@b 1: failed"]);
    expect(records.stored.size).toBe(0);
  });
});

describe("the same request again", () => {
  test("is told its place, or its attempt with the lease as it is now", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 1000 });
    records.wait("@b", "1", "k");
    records.wait("@c", "1", "k");
    expect(told(records.wait("@c", "1", "k", { newAttempt: "another" }))).toEqual(["@c 1: queued 2"]);
    records.now = 500;
    records.extend("k", "@a/1", 2000);
    expect(records.begin("@a", "1", "k", { leaseMs: 1000, newAttempt: "another" })).toEqual([
      {
        kind: "started",
        to: "@a",
        request: "1",
        key: "k",
        attempt: "@a/1",
        number: 1,
        leaseMs: 2000,
        expiresAt: 2500,
      },
    ]);
    expect(records.machine.counts().idempotency.requests).toBe(3);
  });

  test.each([{ fingerprint: "g" }, { ttlMs: 1 }, { leaseMs: 1 }, { waitMs: 1 }, { key: "l" }])(
    "for something else is a mismatch: %o",
    ({ key = "k", ...change }) => {
      const records = new Records();
      records.begin("@a", "1", "k");
      expect(told(records.begin("@a", "1", key, change))).toEqual(["@a 1: refused request_mismatch"]);
    },
  );

  test("starts a new attempt once the old one was lost, and gets the result once it is done", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 100 });
    records.now = 100;
    expect(told(records.begin("@a", "1", "k", { leaseMs: 100, newAttempt: "t2" }))).toEqual(["@a 1: started 2"]);
    records.complete("k", "t2", "r");
    expect(told(records.begin("@a", "1", "k"))).toEqual(["@a 1: replay r of 2"]);
  });
});

describe("limits, at the limit and one past it", () => {
  test("begins that run or wait", () => {
    const records = new Records({ limits: { beginsMax: 2 } });
    records.begin("@a", "1", "k");
    records.wait("@a", "2", "k");
    expect(told(records.begin("@a", "3", "l"))).toEqual(["@a 3: refused limit begins"]);
    expect(told(records.wait("@a", "3", "k"))).toEqual(["@a 3: refused limit begins"]);
    expect(told(records.begin("@a", "3", "k"))).toEqual(["@a 3: in progress, 30000"]);
    records.cancel("@a", "2");
    expect(told(records.begin("@a", "3", "l"))).toEqual(["@a 3: started 1"]);
  });

  test("begins that wait for one record", () => {
    const records = new Records({ limits: { waitersPerRecordMax: 1 } });
    records.begin("@a", "1", "k");
    expect(told(records.wait("@a", "2", "k"))).toEqual(["@a 2: queued 1"]);
    expect(told(records.wait("@a", "3", "k"))).toEqual(["@a 3: refused limit waiters_per_record"]);
  });

  test("begins of one session; callers have no such limit", () => {
    const records = new Records({ limits: { beginsPerSessionMax: 2 } });
    records.open("S");
    records.begin("S", "1", "k");
    records.begin("S", "2", "l");
    expect(told(records.begin("S", "3", "m"))).toEqual(["S 3: refused limit begins_per_session"]);
    expect(told(records.wait("S", "3", "l"))).toEqual(["S 3: refused limit begins_per_session"]);
    for (const request of ["1", "2", "3"]) records.begin("@a", request, `@${request}`);
    expect(records.machine.counts().idempotency.running).toBe(5);
    records.complete("k", "S/1");
    expect(told(records.begin("S", "3", "m"))).toEqual(["S 3: started 1"]);
  });

  test("a full store takes no new record, and goes on with those that it has", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 100, ttlMs: 1000 });
    records.at(100);
    expect(told(records.begin("@a", "2", "l", { isStoreFull: true }))).toEqual(["@a 2: refused limit records"]);
    expect(told(records.begin("@a", "2", "k", { isStoreFull: true }))).toEqual(["@a 2: started 2"]);
    records.complete("k", "@a/2");
    expect(told(records.begin("@a", "3", "k", { isStoreFull: true }))).toEqual(["@a 3: replay done of 2"]);
  });
});

test("when the store cannot say what it has, nothing is run, told or changed", () => {
  const records = new Records();
  const asked = { from: "@a", request: "1", key: "k", found: "unreadable" } as const;
  const begin = { session: false, fingerprint: "", ttlMs: 1, leaseMs: 1, waitMs: 0, newAttempt: "t" };
  const result = new Uint8Array();
  const commands = [
    { kind: "begin", ...asked, ...begin },
    { kind: "complete", ...asked, attempt: "t", result, contentType: "" },
    { kind: "fail", ...asked, attempt: "t" },
    { kind: "extend_attempt", ...asked, attempt: "t", leaseMs: 1 },
    { kind: "forget", ...asked, attempt: "t" },
    { kind: "record_status", ...asked },
  ] as const;
  for (const command of commands) {
    expect(told(records.step(command))).toEqual(["@a 1: refused unavailable"]);
    expect(records.changes).toEqual([]);
  }
  expect(records.machine.counts().idempotency.running).toBe(0);
});
