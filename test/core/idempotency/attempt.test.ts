import { describe, expect, test } from "vitest";
import { Records, told } from "./records.ts";

describe("complete", () => {
  test("twice with equal bytes is fine, with other bytes or another content type refused; the result stands", () => {
    const records = new Records();
    records.begin("@a", "1", "k");
    records.complete("k", "@a/1", "result");
    expect(told(records.complete("k", "@a/1", "result"))).toEqual(["@x: completed already"]);
    for (const other of ["resul", "results", "Result", ""]) {
      expect(told(records.complete("k", "@a/1", other))).toEqual(["@x: refused result_mismatch"]);
    }
    expect(told(records.complete("k", "@a/1", "result", "text/html"))).toEqual(["@x: refused result_mismatch"]);
    expect(told(records.begin("@b", "1", "k"))).toEqual(["@b 1: replay result of 1"]);
  });

  test("an empty result is a result", () => {
    const records = new Records();
    records.begin("@a", "1", "k");
    records.complete("k", "@a/1", "");
    expect(told(records.complete("k", "@a/1", ""))).toEqual(["@x: completed already"]);
    expect(told(records.begin("@b", "1", "k"))).toEqual(["@b 1: replay  of 1"]);
  });

  test("the first owner that comes back late is refused, and the second's result stands", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 100 });
    records.at(100);
    expect(told(records.complete("k", "@a/1"))).toEqual(["@x: lost, expired"]);
    expect(told(records.begin("@b", "1", "k"))).toEqual(["@b 1: started 2"]);
    expect(told(records.complete("k", "@a/1"))).toEqual(["@x: lost, superseded"]);
    records.complete("k", "@b/1", "second");
    expect(told(records.complete("k", "@a/1", "second"))).toEqual(["@x: lost, superseded"]);
    expect(told(records.begin("@c", "1", "k"))).toEqual(["@c 1: replay second of 2"]);
  });

  test("a late timer lets no expired attempt complete, extend or fail", () => {
    for (const late of ["complete", "extend", "fail"] as const) {
      const records = new Records();
      records.begin("@a", "1", "k", { leaseMs: 100 });
      records.now = 100;
      const effects = late === "extend" ? records.extend("k", "@a/1", 1000) : records[late]("k", "@a/1");
      expect(told(effects)).toEqual(["@x: lost, expired"]);
    }
  });

  test("without a record says unknown", () => {
    expect(told(new Records().complete("k", "t"))).toEqual(["@x: lost, unknown"]);
  });
});

describe("leases and lives", () => {
  test("a lease counts from the last extension, and may become shorter", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 1000 });
    records.now = 900;
    expect(records.extend("k", "@a/1", 1000)).toMatchObject([
      { kind: "attempt_extended", leaseMs: 1000, expiresAt: 1900 },
    ]);
    records.now = 1000;
    expect(told(records.complete("k", "another"))).toEqual(["@x: lost, superseded"]);
    records.extend("k", "@a/1", 100);
    expect(records.machine.nextDeadline()).toBe(1100);
    records.at(1100);
    expect(told(records.extend("k", "@a/1", 100))).toEqual(["@x: lost, expired"]);
  });

  test("a lost attempt leaves its fingerprint and its number until the record's own time is over", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 100, ttlMs: 1000 });
    records.at(100);
    records.now = 999;
    expect(told(records.begin("@b", "1", "k", { fingerprint: "g" }))).toEqual(["@b 1: refused fingerprint_mismatch"]);
    records.now = 1000;
    expect(told(records.begin("@b", "1", "k", { fingerprint: "g" }))).toEqual(["@b 1: started 1"]);
  });

  test("a record does not end under its running attempt; when that is lost after the record's time, nothing is left", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 5000, ttlMs: 1000 });
    records.at(4000);
    expect(told(records.begin("@b", "1", "k"))).toEqual(["@b 1: in progress, 1000"]);
    records.at(5000);
    expect(records.stored.size).toBe(0);
    expect(told(records.begin("@b", "1", "k", { fingerprint: "g" }))).toEqual(["@b 1: started 1"]);
  });

  test("who waits longer than the record's time still starts the next attempt", () => {
    const records = new Records();
    records.begin("@a", "1", "k", { leaseMs: 5000, ttlMs: 1000 });
    records.wait("@b", "1", "k");
    expect(told(records.at(5000))).toEqual(["@b 1: started 2"]);
  });

  test("of two leases that end in one instant the earlier arrival's ends first", () => {
    const records = new Records();
    records.open("S");
    records.begin("S", "1", "k", { leaseMs: 200 });
    records.now = 100;
    records.begin("S", "2", "l", { leaseMs: 100 });
    expect(told(records.at(200))).toEqual(["S 1: lost, expired", "S 2: lost, expired"]);
  });
});

describe("fail", () => {
  test("with nobody waiting removes the record: any payload may come next", () => {
    const records = new Records();
    records.begin("@a", "1", "k");
    expect(told(records.fail("k", "@a/1"))).toEqual(["@x: failed"]);
    expect(records.stored.size).toBe(0);
    expect(told(records.fail("k", "@a/1"))).toEqual(["@x: lost, unknown"]);
    expect(told(records.begin("@b", "1", "k", { fingerprint: "g" }))).toEqual(["@b 1: started 1"]);
  });

  test("of what is done already changes nothing", () => {
    const records = new Records();
    records.begin("@a", "1", "k");
    records.complete("k", "@a/1", "r");
    expect(told(records.fail("k", "@a/1"))).toEqual(["@x: lost, completed"]);
    expect(told(records.extend("k", "@a/1", 1000))).toEqual(["@x: lost, completed"]);
    expect(told(records.begin("@b", "1", "k"))).toEqual(["@b 1: replay r of 1"]);
  });
});

describe("forget", () => {
  test("an operator removes whatever there is, and says whether there was anything", () => {
    const records = new Records();
    expect(told(records.forget("k"))).toEqual(["@x: forgotten, was not there"]);
    records.begin("@a", "1", "k", { leaseMs: 100 });
    records.at(100);
    expect(told(records.forget("k"))).toEqual(["@x: forgotten"]);
    expect(told(records.begin("@a", "2", "k", { fingerprint: "g" }))).toEqual(["@a 2: started 1"]);
    records.complete("k", "@a/2");
    expect(told(records.forget("k"))).toEqual(["@x: forgotten"]);
    expect(records.stored.size).toBe(0);
  });

  test("an operator removes also what the store cannot read, so that work on its key can begin anew", () => {
    const records = new Records();
    const asked = { kind: "forget", from: "@x", request: "1", key: "k", found: "unreadable" } as const;
    expect(told(records.step({ ...asked, attempt: "" }))).toEqual(["@x: refused unavailable"]);
    expect(records.changes).toEqual([]);
    expect(told(records.step(asked))).toEqual(["@x: forgotten"]);
    expect(records.changes).toEqual([{ kind: "record_gone", key: "k" }]);
    expect(told(records.begin("@a", "1", "k"))).toEqual(["@a 1: started 1"]);
  });

  test("what the store cannot read but memory knows is forgotten as what it is", () => {
    const records = new Records();
    records.begin("@a", "1", "k");
    records.wait("@b", "1", "k");
    const asked = { kind: "forget", from: "@x", request: "1", key: "k", found: "unreadable" } as const;
    expect(told(records.step(asked))).toEqual(["@b 1: started 1", "@x: forgotten"]);
  });

  test("a running attempt is lost, its session hears it, and whoever waits begins anew", () => {
    const records = new Records();
    records.open("S");
    records.begin("S", "1", "k");
    records.wait("@b", "1", "k");
    expect(told(records.forget("k"))).toEqual(["S 1: lost, forgotten", "@b 1: started 1", "@x: forgotten"]);
    expect(told(records.complete("k", "S/1"))).toEqual(["@x: lost, superseded"]);
  });

  test("an owner may: who runs it, or who completed it; nobody else", () => {
    const records = new Records();
    records.open("S");
    records.begin("S", "1", "k", { leaseMs: 100 });
    expect(told(records.forget("k", "another"))).toEqual(["@x: lost, superseded"]);
    expect(told(records.forget("k", "S/1"))).toEqual(["@x: forgotten"]);
    expect(told(records.forget("k", "S/1"))).toEqual(["@x: forgotten, was not there"]);
    records.begin("@a", "1", "k", { leaseMs: 100 });
    records.at(100);
    expect(told(records.forget("k", "@a/1"))).toEqual(["@x: lost, expired"]);
    records.begin("@a", "2", "k");
    records.complete("k", "@a/2");
    expect(told(records.forget("k", "@a/1"))).toEqual(["@x: lost, superseded"]);
    expect(told(records.forget("k", "@a/2"))).toEqual(["@x: forgotten"]);
  });
});

test("a status shows how a record stands, and neither its token nor its result", () => {
  const records = new Records();
  const about = { kind: "record_status", to: "@x", key: "k" };
  expect(records.status("k")).toEqual([{ ...about, request: "1" }]);
  records.begin("@a", "1", "k", { leaseMs: 100, ttlMs: 1000 });
  records.begin("@b", "1", "k", { waitMs: 50 });
  const running = { state: "running", attempts: 1, waiting: 1, leaseUntil: 100 };
  expect(records.status("k")).toEqual([{ ...about, request: "2", record: running }]);
  records.at(100);
  const idle = { state: "idle", attempts: 1, waiting: 0, expiresAt: 1000 };
  expect(records.status("k")).toEqual([{ ...about, request: "3", record: idle }]);
  records.begin("@a", "2", "k", { ttlMs: 1000 });
  records.complete("k", "@a/2", "four", "text/html");
  const done = { state: "done", attempts: 2, waiting: 0, expiresAt: 1100, contentType: "text/html", resultBytes: 4 };
  expect(records.status("k")).toEqual([{ ...about, request: "5", record: done }]);
});
