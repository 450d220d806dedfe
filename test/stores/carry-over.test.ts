import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { CarryOver, GATHERED_PAGES, GATHERED_SWEEPS } from "../../src/stores/carry-over.ts";
import type { SqlDriver } from "../../src/stores/driver.ts";
import { openFile } from "../../src/stores/file.ts";
import { driverOfRuntime, temporaryFolder } from "./drivers.ts";
import { HeldFile, listened } from "./held-file.ts";
import { done, recordChange } from "./idempotency.ts";
import { batch, TestClock } from "./records.ts";

const driver = await driverOfRuntime();
const CHECKPOINT_PAGES = 8000;

interface World {
  readonly path: string;
  readonly carryOver: CarryOver;
  readonly log: HeldFile;
  readonly file: HeldFile;
  /** Commits that write so many pages together, one each. */
  readonly write: (pages: number) => void;
  /** A sweep that deletes something, from one page. */
  readonly sweep: () => void;
  /** As SQLite does it by itself. */
  readonly carry: () => void;
  /** Pages in the log that are not in the file. */
  readonly waiting: () => number;
  /** How SQLite was told to synchronise for what it did, in order; the order is begun anew by each call. */
  readonly told: () => readonly string[];
}

let path: string;

beforeEach(() => {
  path = join(temporaryFolder(onTestFinished), "file.db");
});

function world({ sync = "normal", version }: { sync?: "normal" | "full"; version?: string } = {}): World {
  const told: string[] = [];
  const sql = listened(driver.connect(path), told, version);
  const pragmas = ["locking_mode = EXCLUSIVE", "journal_mode = WAL", "wal_autocheckpoint = 0", `synchronous = ${sync}`];
  for (const pragma of pragmas) sql.prepare(`PRAGMA ${pragma}`).all();
  sql.prepare("CREATE TABLE one (number INTEGER PRIMARY KEY) STRICT").run();
  sql.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all();
  const write = sql.prepare("INSERT INTO one VALUES (1) ON CONFLICT DO UPDATE SET number = 1");
  const gathered = sql.prepare("PRAGMA wal_checkpoint(NOOP)");
  const [log, file] = [new HeldFile(`${path}-wal`), new HeldFile(path)];
  const carryOver = new CarryOver({ driver: sql, sync, log, file, checkpointPages: CHECKPOINT_PAGES });
  onTestFinished(async () => {
    const closed = carryOver.close();
    for (const flushed of [log, file]) flushed.endAll();
    await closed;
  });
  // Begun, as by the first commit of a server.
  write.run();
  told.length = 0;
  return {
    path,
    carryOver,
    log,
    file,
    write(pages) {
      for (let i = 0; i < pages; i++) carryOver.commit(() => write.run(), 1);
    },
    sweep() {
      carryOver.sweep(() => {
        write.run();
        carryOver.swept();
      });
    },
    carry: () => void sql.prepare("PRAGMA wal_checkpoint(PASSIVE)").all(),
    waiting() {
      const [row] = gathered.all();
      return Number(row?.["log"]) - Number(row?.["checkpointed"]);
    },
    told: () => told.splice(0),
  };
}

/** All goes well. */
async function carried(log: HeldFile, file: HeldFile): Promise<void> {
  for (const flushed of [log, file, log]) await flushed.end();
}

/** The log's first bytes, which say that it is one. */
function headerOf(file: string): number {
  return readFileSync(`${file}-wal`).readUInt32BE(0);
}

test("a sweep goes on until the log has so many pages, and not one more before they are in the file", () => {
  const { carryOver, log, sweep, write, waiting } = world();
  sweep();
  write(GATHERED_PAGES - 3);
  expect(waiting()).toBe(GATHERED_PAGES - 1);
  expect(carryOver.isReady()).toBe(true);
  write(1);
  expect(carryOver.isReady()).toBe(false);
  expect(carryOver.isReady()).toBe(false);
  expect(log.begun).toBe(1);
  expect(waiting()).toBe(GATHERED_PAGES);
});

test("SQLite is told to wait for no disk only when the log is on it, and begins the log anew only when the file is", async () => {
  const { carryOver, log, file, sweep, write, waiting, told } = world();
  write(GATHERED_PAGES);
  sweep();
  told();
  expect(carryOver.isReady()).toBe(false);
  expect(told()).toEqual([]);

  await log.end();
  expect(told()).toEqual(["PASSIVE OFF"]);
  expect(waiting()).toBe(0);
  expect(file.begun).toBe(1);

  expect(headerOf(path)).not.toBe(0);
  await file.end();
  await vi.waitUntil(() => log.begun === 2);
  expect(headerOf(path)).toBe(0);
  expect(told()).toEqual([]);
  expect(carryOver.isReady()).toBe(false);

  await log.end();
  expect(carryOver.isReady()).toBe(true);
  sweep();
  sweep();
  expect(told()).toEqual(["INSERT OFF", "INSERT NORMAL"]);
});

test("commits go on while the log is flushed, and wait from then on until it is empty on the disk", async () => {
  const { carryOver, log, file, sweep, write, told } = world();
  write(GATHERED_PAGES);
  sweep();
  carryOver.isReady();
  expect(carryOver.held).toBeUndefined();
  write(1);
  told();

  // What was committed meanwhile is perhaps not on the disk.
  await log.end();
  expect(carryOver.held).toBeDefined();
  expect(log.begun).toBe(2);
  expect(told()).toEqual([]);
  await log.end();
  expect(told()).toEqual(["PASSIVE OFF"]);
  expect(carryOver.held).toBeDefined();
  await file.end();
  const { held } = carryOver;
  expect(held).toBeDefined();
  await log.end();
  await held;
  expect(carryOver.held).toBeUndefined();
});

test("the first commit after it waits for no disk, whoever makes it, but with sync full, where a commit is on the disk", async () => {
  for (const sync of ["normal", "full"] as const) {
    path += sync;
    const { carryOver, log, file, sweep, write, told } = world({ sync });
    write(GATHERED_PAGES);
    sweep();
    carryOver.isReady();
    await carried(log, file);
    told();
    write(2);
    expect(told()).toEqual(sync === "normal" ? ["INSERT OFF", "INSERT NORMAL"] : ["INSERT FULL", "INSERT FULL"]);
  }
});

test("a sweep that has found nothing has not begun the log", async () => {
  const { carryOver, log, file, sweep, write, told } = world({ sync: "full" });
  write(GATHERED_PAGES);
  sweep();
  carryOver.isReady();
  await carried(log, file);
  told();
  carryOver.sweep(() => {});
  sweep();
  sweep();
  expect(told()).toEqual(["INSERT OFF", "INSERT NORMAL"]);
});

test("a commit that fails before the log has a page leaves the next one to SQLite", async () => {
  const { carryOver, log, file, sweep, write, told } = world();
  write(GATHERED_PAGES);
  sweep();
  carryOver.isReady();
  await carried(log, file);
  told();
  const fail = (): void => {
    throw new Error("injected");
  };
  expect(() => carryOver.commit(fail, 1)).toThrow("injected");
  write(1);
  expect(told()).toEqual(["INSERT NORMAL"]);
});

test("what another thread cannot flush SQLite waits for itself", async () => {
  const { carryOver, log, file, sweep, write, waiting, told } = world();
  write(GATHERED_PAGES);
  sweep();
  told();
  carryOver.isReady();
  await log.end(new Error("EIO"));
  expect(told()).toEqual(["PASSIVE NORMAL"]);
  expect(waiting()).toBe(0);
  await file.end();
  await log.end(new Error("EIO"));
  // Not tried again and again.
  expect(carryOver.isReady()).toBe(true);
  expect(carryOver.isReady()).toBe(true);
  told();
  sweep();
  expect(told()).toEqual(["INSERT NORMAL"]);
});

test("where the disk has refused the file, nothing is committed any more, and all of it is in the log for the next start", async () => {
  const { carryOver, log, file, sweep, write, told } = world();
  write(GATHERED_PAGES);
  sweep();
  carryOver.isReady();
  await log.end();
  const { held } = carryOver;
  const { size } = statSync(`${path}-wal`);
  await file.end(new Error("EIO"));
  await held;
  told();
  expect(() => write(1)).toThrow("EIO");
  // Also where the disk seems to have recovered: what it has lost it does not know.
  const begun = log.begun;
  for (let i = 0; i < 3; i++) expect(() => carryOver.isReady()).toThrow("EIO");
  expect(log.begun).toBe(begun);
  expect(() => sweep()).toThrow("EIO");
  expect(told()).toEqual([]);

  await carryOver.close();
  expect(statSync(`${path}-wal`).size).toBe(size);
  expect(existsSync(`${path}-wal-kept`)).toBe(false);
});

test("a file that is closed meanwhile is closed when the disk has it", async () => {
  const { carryOver, log, file, sweep, write } = world();
  write(GATHERED_PAGES);
  sweep();
  carryOver.isReady();
  const closed = carryOver.close();
  await carried(log, file);
  await closed;
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test("where SQLite cannot tell what waits, the number of sweeps does", async () => {
  const { carryOver, log, file, sweep, told } = world({ version: "3.50.4" });
  for (let i = 1; i < GATHERED_SWEEPS; i++) sweep();
  expect(carryOver.isReady()).toBe(true);
  sweep();
  told();
  expect(carryOver.isReady()).toBe(false);
  expect(told()).toEqual([]);
  await carried(log, file);
  expect(carryOver.isReady()).toBe(true);
});

test("where SQLite has carried the log over by itself, it is made void before a sweep begins it anew", async () => {
  const { carryOver, log, file, sweep, write, carry, waiting, told } = world();
  write(1);
  carry();
  expect(waiting()).toBe(0);
  expect(carryOver.isReady()).toBe(false);
  await carried(log, file);
  expect(carryOver.isReady()).toBe(true);
  told();
  sweep();
  expect(told()).toEqual(["INSERT OFF"]);
});

test("a sweep that finds nothing to delete leaves the log to those who write it", () => {
  const { carryOver, log, write, waiting } = world();
  write(10 * GATHERED_PAGES);
  expect(carryOver.isReady()).toBe(true);
  expect(log.begun).toBe(0);
  expect(waiting()).toBe(10 * GATHERED_PAGES + 1);
});

test("a commit that comes while the file is flushed is made after it, without keeping anybody waiting", async () => {
  const clock = new TestClock();
  const store = driver.open(path, { clock });
  onTestFinished(async () => store.close());
  const records = Array.from({ length: 4000 }, (_, i) => done(`k${Math.imul(i, 0x9e3779b1) >>> 0}`, 2000));
  await store.commit("default", batch(...records.map(recordChange)));
  let made: void | Promise<void> = undefined;
  let count = 0;
  for (; !(made instanceof Promise); await Promise.resolve()) {
    store.sweep(5000, 64);
    // Only one turn in many is one in which commits wait, so there are many.
    await new Promise(setImmediate);
    made = store.commit("default", batch(recordChange(done(`late ${++count}`, 90_000))));
  }
  expect(store.find("default", `late ${count}`)).toBeUndefined();
  await made;
  expect(store.find("default", `late ${count}`)?.state).toBe("done");
});

test("with sync full a sweep's commit waits for no disk, and everybody else's does", async () => {
  const told: string[] = [];
  const connect = (file: string): SqlDriver => listened(driver.connect(file), told, undefined);
  const clock = new TestClock();
  const store = openFile(path, { clock, sync: "full" }, connect);
  onTestFinished(async () => store.close());
  told.length = 0;
  await store.commit("default", batch(recordChange(done("a", 2000))));
  store.sweep(5000, 10);
  await store.commit("default", batch(recordChange(done("b", 90_000))));
  expect(told).toEqual(["INSERT FULL", "DELETE NORMAL", "INSERT FULL"]);
});
