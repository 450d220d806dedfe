import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Store } from "../../src/host/ports.ts";
import type { SqlDriver } from "../../src/stores/driver.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { splitStore } from "../../src/stores/split.ts";
import { driverOfRuntime, temporaryFolder } from "./drivers.ts";
import { begin, done, idle, recordChange, running, waiter } from "./idempotency.ts";
import { batch, claims, holding, TestClock } from "./records.ts";

const driver = await driverOfRuntime();
const MIB = 1024 * 1024;

interface Opened {
  readonly store: Store;
  readonly clock: TestClock;
  readonly path: string;
}

function sqlite(): Opened {
  const path = join(temporaryFolder(onTestFinished), "latchkey.db");
  const clock = new TestClock();
  const store = driver.open(path, { clock, waitMs: 0 });
  onTestFinished(async () => store.close());
  return { store, clock, path };
}

function memory(): Opened {
  const clock = new TestClock();
  return { store: createMemoryStore(clock), clock, path: "" };
}

/** Records in a file, locks in memory. */
function split(): Opened {
  const { store, clock, path } = sqlite();
  return { store: splitStore(createMemoryStore(clock), store), clock, path };
}

function raw(path: string, work: (driver: SqlDriver) => void): void {
  const connection = driver.connect(path);
  work(connection);
  connection.close();
}

async function reopened({ store, clock, path }: Opened, downMs = 0): Promise<Opened> {
  await store.close();
  const next = new TestClock(50, clock.wallMs + downMs);
  const again = driver.open(path, { clock: next, waitMs: 0 });
  onTestFinished(() => again.close());
  return { store: again, clock: next, path };
}

describe.each([
  [driver.name, sqlite],
  ["memory", memory],
  ["split", split],
] as const)("records in a store: %s", (_name, open) => {
  test("a record is found by its key in its space, and by no other", async () => {
    const { store } = open();
    await store.commit("default", batch(recordChange(done("pay", 90_000))));

    expect(store.find("default", "pay")).toMatchObject({ key: "pay", state: "done", attempt: "attempt-1" });
    expect(store.find("other", "pay")).toBeUndefined();
    expect(store.find("default", "pa")).toBeUndefined();
  });

  test("the latest state of a record is what is found, and nothing once it is gone", async () => {
    const { store } = open();
    await store.commit("default", batch(recordChange(running("pay"))));
    await store.commit("default", batch(recordChange(done("pay", 90_000))));
    expect(store.find("default", "pay")?.state).toBe("done");

    await store.commit("default", batch({ kind: "record_gone", key: "pay" }));
    expect(store.find("default", "pay")).toBeUndefined();
  });

  test.each([
    ["empty", new Uint8Array()],
    ["every byte", Uint8Array.from({ length: 256 }, (_, i) => i)],
    ["a mebibyte", new Uint8Array(MIB).fill(0xfe)],
  ])("a result comes back byte for byte: %s", async (_what, result) => {
    const { store } = open();
    await store.commit("default", batch(recordChange(done("pay", 90_000, result))));

    // Compared in one go: an assertion that looks at each byte of a mebibyte takes seconds.
    const found = store.find("default", "pay")?.result;
    expect(Buffer.from(found ?? []).equals(result)).toBe(true);
  });

  test("only records that run are loaded with their space", async () => {
    const { store } = open();
    await store.commit(
      "default",
      batch(recordChange(running("a")), recordChange(done("b", 90_000)), recordChange(idle("c", 90_000))),
    );
    await store.commit("other", batch(recordChange(running("d"))));

    expect((await store.load("default")).image.records.map(({ key }) => key)).toEqual(["a"]);
  });

  test("a sweep deletes what has expired by then, to the ms, and says when the next will", async () => {
    const { store } = open();
    const records = [done("a", 2000), idle("b", 3000), done("c", 60_000), running("d")];
    await store.commit("default", batch(...records.map(recordChange)));

    expect(store.sweep(1900, 10)).toBeGreaterThanOrEqual(2000);
    expect(store.find("default", "a")).toBeDefined();

    const next = store.sweep(5000, 10);
    expect(next).toBeGreaterThanOrEqual(60_000);
    expect(next).toBeLessThan(60_010);
    expect(["a", "b", "c", "d"].filter((key) => store.find("default", key) !== undefined)).toEqual(["c", "d"]);
    expect(store.sweep(70_000, 10)).toBe(Number.POSITIVE_INFINITY);
    expect(store.find("default", "d")).toBeDefined();
  });

  test("a sweep does no more than it is told to, and asks to be called again until it is through", async () => {
    const { store } = open();
    await store.commit("default", batch(...[5, 3, 1, 4, 2].map((i) => recordChange(done(`k${i}`, 2000 + i)))));
    const left = (): number => [1, 2, 3, 4, 5].filter((i) => store.find("default", `k${i}`) !== undefined).length;

    expect(store.sweep(10_000, 2)).toBe(10_000);
    expect(left()).toBe(3);
    expect(store.sweep(10_000, 2)).toBe(10_000);
    expect(left()).toBe(1);
    expect(store.sweep(10_000, 2)).toBe(Number.POSITIVE_INFINITY);
    expect(left()).toBe(0);
  });

  test("a sweep goes through all spaces and over what has not expired", async () => {
    const { store } = open();
    for (const space of ["a", "b"]) {
      for (let i = 0; i < 10; i++) {
        const record = i % 3 === 0 ? running(`k${i}`) : done(`k${i}`, i % 2 === 0 ? 2000 : 60_000);
        await store.commit(space, batch(recordChange(record)));
      }
    }

    let calls = 1;
    let next = store.sweep(5000, 3);
    for (; next <= 5000; next = store.sweep(5000, 3)) calls += 1;
    expect(calls).toBeLessThan(20);
    expect(next).toBeGreaterThanOrEqual(60_000);
    for (const space of ["a", "b"]) {
      const found = Array.from({ length: 10 }, (_, i) => i).filter((i) => store.find(space, `k${i}`) !== undefined);
      expect(found).toEqual([0, 1, 3, 5, 6, 7, 9]);
    }
  });
});

describe(`records over ${driver.name}`, () => {
  test("every field of a running record comes back after a restart, its lease with what is left of it", async () => {
    const before = sqlite();
    const asked = begin({ key: "p\u0000'", from: "s", request: "r\ud800", session: true, fingerprint: "\udc00" });
    const full = running("p\u0000'", { attempts: 7, run: { order: 9, asked, leaseMs: 60_000, leaseUntil: 41_000 } });
    await before.store.commit("default", batch(recordChange(full)));

    const { store, clock } = await reopened(before, 10_000);
    const found = store.find("default", full.key)!;
    const leftMs = found.run!.leaseUntil - clock.now();
    expect(leftMs).toBeGreaterThanOrEqual(41_000 - 1000.25 - 10_000);
    expect(leftMs).toBeLessThan(41_000 - 1000.25 - 10_000 + 3);
    expect({ ...found, startedAt: 1000, run: { ...found.run, leaseUntil: 41_000 } }).toStrictEqual(full);
  });

  test("a wall clock that was set back leaves no more of a lease or a life than was given", async () => {
    const before = sqlite();
    await before.store.commit("default", batch(recordChange(running("a")), recordChange(done("b", 2000))));

    const { store, clock } = await reopened(before, -3_600_000);
    expect(store.find("default", "a")!.run!.leaseUntil).toBe(clock.now() + 30_000);
    expect(store.find("default", "b")!.expiresAt).toBeLessThanOrEqual(clock.now() + 24 * 3_600_000);
  });

  test("a waiting begin comes back until it is gone", async () => {
    const before = sqlite();
    await before.store.commit(
      "default",
      batch({ kind: "waiter", waiter: waiter(1) }, { kind: "waiter", waiter: waiter(2) }),
    );
    await before.store.commit("default", batch({ kind: "waiter_gone", order: 1 }));

    const { store } = await reopened(before);
    expect(store.load("default")).toMatchObject({ image: { waiters: [{ order: 2, asked: waiter(2).asked }] } });
  });

  test.each([["\ud800"], ["\udc00"], ["\ufffd"], [""], ["a\u0000b"], ["\"\\'"]])(
    "different keys are different records: %j",
    async (key) => {
      const { store } = sqlite();
      for (const other of ["\ud800", "\udc00", "\ufffd", "", "a\u0000b", "\"\\'", "a"]) {
        await store.commit(
          "default",
          batch(recordChange(done(other, 90_000, new TextEncoder().encode(JSON.stringify(other))))),
        );
      }
      expect(new TextDecoder().decode(store.find("default", key)!.result)).toBe(JSON.stringify(key));
    },
  );

  test.each([
    ["no JSON", "UPDATE record SET record = '{' WHERE key = '\"a\"'"],
    ["another key's", "UPDATE record SET record = (SELECT record FROM record WHERE key = '\"b\"') WHERE key = '\"a\"'"],
    ["without its result", "UPDATE record SET result = NULL WHERE key = '\"a\"'"],
    ["marked as running", "UPDATE record SET expires = NULL WHERE key = '\"a\"'"],
    ["without an attempt", "UPDATE record SET record = json_remove(record, '$.attempt') WHERE key = '\"a\"'"],
    ["of an unknown state", "UPDATE record SET record = json_set(record, '$.state', 'x') WHERE key = '\"a\"'"],
  ])("a damaged record throws when it is looked for, and concerns no other: %s", async (_what, sql) => {
    const before = sqlite();
    await before.store.commit("default", batch(recordChange(done("a", 90_000)), recordChange(done("b", 90_000))));
    await before.store.close();
    raw(before.path, (connection) => connection.prepare(sql).run());
    const { store } = await reopened(before);

    expect(() => store.find("default", "a")).toThrow(expect.objectContaining({ code: "damaged" }));
    expect(store.find("default", "b")?.state).toBe("done");
    expect(store.load("default")).toMatchObject({ image: { records: [] } });
  });

  test("a damaged record that ran is not loaded, and is told when it is looked for", async () => {
    const before = sqlite();
    await before.store.commit("default", batch(recordChange(running("a")), recordChange(running("b"))));
    await before.store.close();
    raw(before.path, (connection) => connection.prepare("UPDATE record SET record = '{}' WHERE key = '\"a\"'").run());
    const { store } = await reopened(before);

    expect(store.load("default")).toMatchObject({ image: { records: [{ key: "b" }] } });
    expect(() => store.find("default", "a")).toThrow(expect.objectContaining({ code: "damaged" }));
    // For as long as it may be: when its lease is over nobody can tell. It goes when it is told to.
    while (store.sweep(Number.MAX_SAFE_INTEGER / 2, 9) <= Number.MAX_SAFE_INTEGER / 2);
    expect(() => store.find("default", "a")).toThrow(expect.objectContaining({ code: "damaged" }));
    await store.commit("default", batch({ kind: "record_gone", key: "a" }));
    expect(store.find("default", "a")).toBeUndefined();
  });

  test("a damaged record that rests is swept when its time is over, and not a ms before", async () => {
    const before = sqlite();
    await before.store.commit("default", batch(recordChange(done("a", 2000))));
    await before.store.close();
    raw(before.path, (connection) => connection.prepare("UPDATE record SET record = '{}'").run());
    const { store, clock } = await reopened(before);
    // Written down a little late, in whole ms.
    const expiresAt = clock.nowMs + Math.ceil(2000 - before.clock.nowMs) + 1;

    store.sweep(expiresAt - 1, 9);
    expect(() => store.find("default", "a")).toThrow(expect.objectContaining({ code: "damaged" }));
    store.sweep(expiresAt, 9);
    expect(store.find("default", "a")).toBeUndefined();
  });
});

test("a sweep that is through begins anew only when the host says so, also where a row has become due behind it", async () => {
  const { store } = sqlite();
  await store.commit("default", batch(recordChange(done("a", 2000)), recordChange(done("b", 60_000))));

  expect(store.sweep(1500, 1)).toBe(1500);
  expect(store.sweep(5000, 1)).toBe(5000);
  expect(store.sweep(5000, 1)).toBe(5001);
  expect(store.sweep(5001, 9)).toBeGreaterThanOrEqual(60_000);
  expect(store.find("default", "a")).toBeUndefined();
});

test("a sweep that runs out of time goes on where it stopped", async () => {
  class BusyClock extends TestClock {
    override now(): number {
      return (this.nowMs += 0.5);
    }
  }
  const path = join(temporaryFolder(onTestFinished), "latchkey.db");
  const store = driver.open(path, { clock: new BusyClock(), waitMs: 0 });
  onTestFinished(async () => store.close());
  await store.commit("default", batch(...Array.from({ length: 40 }, (_, i) => recordChange(done(`k${i}`, 2000)))));

  let calls = 1;
  while (store.sweep(90_000, 40) === 90_000) calls += 1;
  expect(calls).toBeGreaterThan(5);
  expect(Array.from({ length: 40 }, (_, i) => store.find("default", `k${i}`)).filter(Boolean)).toEqual([]);
});

describe("records in memory", () => {
  const open = (limits: object): Store => createMemoryStore(new TestClock(), limits);

  test("are full at the limit, not one below, and have room again when one is gone", async () => {
    const store = open({ recordsMax: 2 });
    await store.commit("default", batch(recordChange(done("a", 2000))));
    expect(store.isFull?.()).toBe(false);
    await store.commit("other", batch(recordChange(running("b"))));
    expect(store.isFull?.()).toBe(true);
    // Known records still change.
    await store.commit("other", batch(recordChange(done("b", 3000))));
    expect(store.isFull?.()).toBe(true);
    store.sweep(2000, 10);
    expect(store.isFull?.()).toBe(false);
  });

  test("are full when their results are, and count a result once", async () => {
    const store = open({ resultBytesMax: 10 });
    await store.commit("default", batch(recordChange(done("a", 2000, new Uint8Array(9)))));
    await store.commit("default", batch(recordChange(done("a", 2000, new Uint8Array(9)))));
    expect(store.isFull?.()).toBe(false);
    await store.commit("default", batch(recordChange(done("a", 2000, new Uint8Array(10)))));
    expect(store.isFull?.()).toBe(true);
    await store.commit("default", batch({ kind: "record_gone", key: "a" }, { kind: "record_gone", key: "a" }));
    expect(store.isFull?.()).toBe(false);
  });
});

test("locks and records in two stores come together when their space is loaded, and go apart when it changes", async () => {
  const locks = sqlite();
  const records = sqlite();
  const store = splitStore(locks.store, records.store);
  const { changes } = claims(holding(1));
  await store.commit("default", { ...batch(...changes, recordChange(running("a"))), serialReserved: 2 ** 52 });

  expect(await store.load("default")).toMatchObject({
    image: { claims: [{ ticket: 1 }], records: [{ key: "a" }] },
    serial: 2 ** 52,
  });
  expect(await locks.store.load("default")).toMatchObject({ image: { records: [] } });
  expect(await records.store.load("default")).toMatchObject({ image: { claims: [] } });
});
