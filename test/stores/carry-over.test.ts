import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { CarryOver } from "../../src/stores/carry-over.ts";
import type { SqlDriver } from "../../src/stores/driver.ts";
import { openFile } from "../../src/stores/file.ts";
import { driverOfRuntime, temporaryFolder } from "./drivers.ts";
import { done, recordChange } from "./idempotency.ts";
import { batch, TestClock } from "./records.ts";

const driver = await driverOfRuntime();
/** As in carry-over.ts. */
const GATHERED_PAGES = 32;
const QUICK_MS = 2;
const WAITS_MAX = 40;

interface Flush {
  readonly end: () => void;
  readonly fail: () => void;
}

interface Log {
  readonly carryOver: CarryOver;
  readonly clock: TestClock;
  /** Flushes that were begun. */
  readonly flushes: readonly Flush[];
  readonly write: (pages: number) => void;
  /** Pages in the log that are not in the file. */
  readonly waiting: () => number;
}

function log(): Log {
  const sql = driver.connect(join(temporaryFolder(onTestFinished), "log.db"));
  onTestFinished(() => sql.close());
  for (const pragma of ["locking_mode = EXCLUSIVE", "journal_mode = WAL", "wal_autocheckpoint = 0"]) {
    sql.prepare(`PRAGMA ${pragma}`).all();
  }
  sql.prepare("CREATE TABLE one (number INTEGER PRIMARY KEY) STRICT").run();
  sql.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all();
  // Of one page each.
  const write = sql.prepare("INSERT INTO one VALUES (1) ON CONFLICT DO UPDATE SET number = 1");
  const gathered = sql.prepare("PRAGMA wal_checkpoint(NOOP)");
  const flushes: Flush[] = [];
  const clock = new TestClock();
  const flush = (): Promise<void> =>
    new Promise((resolve, reject) => {
      flushes.push({ end: resolve, fail: () => reject(new Error("no such file")) });
    });
  const carryOver = new CarryOver(sql, clock, flush);
  return {
    carryOver,
    clock,
    flushes,
    write(pages) {
      for (let i = 0; i < pages; i++) write.run();
    },
    waiting() {
      const [row] = gathered.all();
      return Number(row?.["log"]) - Number(row?.["checkpointed"]);
    },
  };
}

/** A flush ends after so long, and what waits for it goes on. */
async function end({ flushes, clock }: Log, tookMs: number): Promise<void> {
  clock.nowMs += tookMs;
  flushes.at(-1)?.end();
  await Promise.resolve();
  await Promise.resolve();
}

test("a sweep goes on until the log has so many pages, and not one more before the disk was asked", () => {
  const { carryOver, flushes, write, waiting } = log();
  carryOver.swept();
  write(GATHERED_PAGES - 1);
  expect(carryOver.isReady()).toBe(true);
  write(1);
  expect(carryOver.isReady()).toBe(false);
  expect(carryOver.isReady()).toBe(false);
  expect(flushes).toHaveLength(1);
  expect(waiting()).toBe(GATHERED_PAGES);
});

test("what has gathered goes into the file when the disk is quick, and not while it is slow", async () => {
  const world = log();
  const { carryOver, flushes, write, waiting } = world;
  carryOver.swept();
  write(GATHERED_PAGES);
  expect(carryOver.isReady()).toBe(false);
  await end(world, QUICK_MS + 0.001);
  expect(carryOver.isReady()).toBe(false);
  expect(flushes).toHaveLength(2);
  expect(waiting()).toBe(GATHERED_PAGES);

  await end(world, QUICK_MS);
  // The commit after it waits for the disk too, so deleting is for the next call.
  expect(carryOver.isReady()).toBe(false);
  expect(waiting()).toBe(0);
  expect(carryOver.isReady()).toBe(true);

  // For the next pages the disk is asked anew.
  carryOver.swept();
  write(GATHERED_PAGES);
  expect(carryOver.isReady()).toBe(false);
  expect(flushes).toHaveLength(3);
});

test("a sweep does not wait for ever for a disk that is never quick", () => {
  const { carryOver, write, waiting } = log();
  carryOver.swept();
  write(GATHERED_PAGES);
  for (let call = 0; call < WAITS_MAX; call++) expect(carryOver.isReady()).toBe(false);
  expect(waiting()).toBe(GATHERED_PAGES);
  expect(carryOver.isReady()).toBe(false);
  expect(waiting()).toBe(0);
  expect(carryOver.isReady()).toBe(true);
});

test("a sweep does not wait for a disk that cannot be asked", async () => {
  const { carryOver, flushes, write, waiting } = log();
  carryOver.swept();
  write(GATHERED_PAGES);
  expect(carryOver.isReady()).toBe(false);
  flushes[0]?.fail();
  await Promise.resolve();
  await Promise.resolve();
  expect(carryOver.isReady()).toBe(false);
  expect(waiting()).toBe(0);
  expect(carryOver.isReady()).toBe(true);
});

test("a sweep that finds nothing to delete leaves the log to those who write it", () => {
  const { carryOver, flushes, write, waiting } = log();
  write(10 * GATHERED_PAGES);
  expect(carryOver.isReady()).toBe(true);
  expect(flushes).toEqual([]);
  expect(waiting()).toBe(10 * GATHERED_PAGES);
});

test("with sync full a sweep's commit waits for no disk, and everybody else's does", () => {
  const modes: (readonly [sql: string, synchronous: unknown])[] = [];
  const connect = (path: string): SqlDriver => {
    const inner = driver.connect(path);
    const mode = (): unknown => inner.prepare("PRAGMA synchronous").all()[0]?.["synchronous"];
    return {
      ...inner,
      prepare(sql) {
        const statement = inner.prepare(sql);
        return {
          all: (...values) => statement.all(...values),
          run(...values) {
            if (/^(INSERT INTO|DELETE FROM) record/.test(sql)) modes.push([sql.slice(0, 6), mode()]);
            statement.run(...values);
          },
        };
      },
    };
  };
  const clock = new TestClock();
  const store = openFile(join(temporaryFolder(onTestFinished), "full.db"), { clock, sync: "full" }, connect);
  onTestFinished(() => store.close());
  store.commit("default", batch(recordChange(done("a", 2000))));
  store.sweep(5000, 10);
  store.commit("default", batch(recordChange(done("b", 90_000))));

  const [NORMAL, FULL] = [1, 2];
  expect(modes).toEqual([
    ["INSERT", FULL],
    ["DELETE", NORMAL],
    ["INSERT", FULL],
  ]);
});
