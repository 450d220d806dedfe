import { describe, expect, test } from "vitest";
import { Records, told } from "./records.ts";

describe("a session's attempt ends with it", () => {
  test("the next waiter starts in the step in which the session drops", () => {
    const records = new Records();
    records.open("S");
    records.begin("S", "1", "k");
    records.wait("@b", "1", "k");
    expect(told(records.drop("S"))).toEqual(["S: session_ended", "@b 1: started 2"]);
    expect(told(records.complete("k", "S/1"))).toEqual(["@x: lost, superseded"]);
  });

  test("with nobody waiting the record is idle, and a late complete is told why", () => {
    const records = new Records();
    records.open("S");
    records.begin("S", "1", "k");
    records.drop("S");
    expect(told(records.complete("k", "S/1"))).toEqual(["@x: lost, dropped"]);
    expect(told(records.begin("@b", "1", "k"))).toEqual(["@b 1: started 2"]);
  });

  test("a suspended session keeps it until its grace is over", () => {
    const records = new Records();
    records.open("S", 500);
    records.begin("S", "1", "k");
    records.wait("@b", "1", "k");
    expect(told(records.drop("S"))).toEqual([]);
    expect(told(records.at(499))).toEqual([]);
    expect(told(records.at(500))).toEqual(["S: session_ended", "@b 1: started 2"]);
  });

  test("a session hears at once that its lease is over", () => {
    const records = new Records();
    records.open("S");
    records.begin("S", "1", "k", { leaseMs: 100 });
    expect(told(records.at(100))).toEqual(["S 1: lost, expired"]);
  });

  test("a caller's attempt has no session to end with", () => {
    const records = new Records();
    records.open("S");
    records.begin("@a", "1", "k");
    records.drop("S");
    expect(told(records.complete("k", "@a/1"))).toEqual(["@x: completed"]);
  });
});

describe("a session's waits end with it", () => {
  test("its waits go before its attempts end: it does not inherit from itself", () => {
    const records = new Records();
    records.open("S");
    records.begin("S", "1", "k");
    records.wait("S", "2", "k");
    records.wait("@b", "1", "k");
    expect(told(records.drop("S"))).toEqual(["S: session_ended", "@b 1: started 2"]);
    expect(records.machine.counts().idempotency.requests).toBe(1);
  });

  test("of two sessions that end in one late step, neither inherits from the other", () => {
    const records = new Records();
    records.open("S", 100);
    records.open("T", 200);
    records.begin("S", "1", "k");
    records.wait("T", "1", "k");
    records.wait("@b", "1", "k");
    records.drop("S");
    records.drop("T");
    expect(told(records.at(300))).toEqual(["S: session_ended", "T: session_ended", "@b 1: started 2"]);
  });

  test("a late timer starts nothing for a session that is over, though the lease ended before it", () => {
    const records = new Records();
    records.open("T", 200);
    records.begin("@a", "1", "k", { leaseMs: 100 });
    records.wait("T", "1", "k");
    records.wait("@b", "1", "k");
    records.drop("T");
    expect(told(records.at(300))).toEqual(["T: session_ended", "@b 1: started 2"]);
  });
});

test("a begin of a session that is over is refused", () => {
  const records = new Records();
  expect(told(records.begin("S", "1", "k"))).toEqual(["S 1: refused session_ended"]);
  records.open("S");
  expect(told(records.begin("S", "1", "k"))).toEqual(["S 1: started 1"]);
});

test("a command about a lock serves what is due of the records, and the other way round", () => {
  const records = new Records();
  records.open("S", 100);
  records.begin("@a", "1", "k", { leaseMs: 100 });
  records.wait("@b", "1", "k");
  records.now = 100;
  const status = { kind: "status", from: "@x", request: "1", key: "k" } as const;
  expect(told(records.step(status))).toEqual(["@x: status", "@b 1: started 2"]);
  records.drop("S");
  records.now = 200;
  expect(told(records.begin("@c", "1", "k"))).toEqual(["S: session_ended", "@c 1: in progress, 29900"]);
});

describe("restarts", () => {
  test("a caller's attempt and its request are known again, its lease goes on, its waiters are gone", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 1000 });
    records.wait("@b", "1", "k");
    records.now = 100;
    records.extend("k", "@a/1", 2000);
    records.now = 300;
    expect(told(records.restart())).toEqual([]);
    expect(records.begin("@a", "1", "k", { leaseMs: 1000 })).toMatchObject([{ leaseMs: 2000, expiresAt: 2100 }]);
    expect(told(records.begin("@c", "1", "k"))).toEqual(["@c 1: in progress, 1800"]);
    expect(told(records.complete("k", "@a/1"))).toEqual(["@x: completed"]);
  });

  test("an attempt whose lease ended meanwhile, or whose session is no more, is lost", () => {
    const records = new Records();
    records.open("S");
    records.begin("@a", "1", "k", { leaseMs: 100 });
    records.begin("S", "1", "l");
    records.now = 100;
    records.restart();
    expect(told(records.complete("k", "@a/1"))).toEqual(["@x: lost, expired"]);
    expect(told(records.complete("l", "S/1"))).toEqual(["@x: lost, dropped"]);
    expect(told(records.begin("@b", "1", "l"))).toEqual(["@b 1: started 2"]);
  });

  test("an attempt whose session is taken back goes on", () => {
    const records = new Records();
    records.open("S", 5000);
    records.begin("S", "1", "k");
    const session = { id: "S", secret: "secret", graceMs: 5000, meta: undefined, user: undefined, order: 1 };
    records.restart({ sessions: [{ ...session, deadline: Number.POSITIVE_INFINITY }] });
    expect(told(records.complete("k", "S/1"))).toEqual(["@x: completed"]);
  });

  test("where sockets outlive memory, the sessions that wait are stored and stand in their old order", () => {
    const records = new Records({ persist: "all" });
    for (const session of ["S", "T"]) records.open(session);
    records.begin("@a", "1", "k");
    records.wait("S", "1", "k");
    records.wait("@b", "1", "k");
    records.wait("T", "1", "k");
    expect(records.waiters.size).toBe(2);
    const sessions = ["T", "S"].map((id, i) => ({
      id,
      secret: "secret",
      graceMs: 0,
      meta: undefined,
      user: undefined,
      order: i + 1,
      deadline: Number.POSITIVE_INFINITY,
    }));
    const waiters = [...records.waiters.values()].toReversed();
    expect(told(records.restart({ sessions, waiters }))).toEqual([]);
    expect(told(records.fail("k", "@a/1"))).toEqual(["S 1: started 2", "@x: failed"]);
    expect(told(records.complete("k", "S/1", "r"))).toEqual(["T 1: replay r of 2", "@x: completed"]);
    expect(records.waiters.size).toBe(0);
  });

  test("who waits for a record that could not be read is refused", () => {
    const records = new Records({ persist: "all" });
    records.open("S");
    records.begin("@a", "1", "k");
    records.wait("S", "1", "k");
    const session = { id: "S", secret: "secret", graceMs: 0, meta: undefined, user: undefined, order: 1 };
    const sessions = [{ ...session, deadline: Number.POSITIVE_INFINITY }];
    expect(told(records.restart({ sessions, records: [] }))).toEqual(["S 1: refused unavailable"]);
    expect(records.waiters.size).toBe(0);
  });
});

test("what came to rest in a step is known to that very step, whatever was found before it", () => {
  const records = new Records();
  records.begin("@a", "1", "k", { leaseMs: 100 });
  records.now = 100;
  expect(told(records.begin("@b", "1", "k", { fingerprint: "g" }))).toEqual(["@b 1: refused fingerprint_mismatch"]);
  expect(records.stored.get("k")).toMatchObject({
    state: "idle",
    lostBy: "expired",
    attempts: 1,
    expiresAt: 3_600_000,
  });
});
