import { cpSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ASKED_PAGES, CarryOver, LOG_PAGES, WAITING_PAGES_MAX } from "../../src/stores/carry-over.ts";
import type { SqlDriver } from "../../src/stores/driver.ts";
import { openFile } from "../../src/stores/file.ts";
import { SLICE_PAGES, tellsPages } from "../../src/stores/slices.ts";
import { guardOf, openViewed } from "../../src/stores/viewed.ts";
import { driverOfRuntime, temporaryFolder } from "./drivers.ts";
import { HeldFile, listened } from "./held-file.ts";
import { done, recordChange } from "./idempotency.ts";
import { batch, TestClock } from "./records.ts";

const driver = await driverOfRuntime();

const connect = (name: string): SqlDriver => driver.connect(name);
let path: string;

beforeEach(() => {
  // Also where a URL writes it in another way.
  path = join(temporaryFolder(onTestFinished), "a file #1 100%?é.db");
});

interface World {
  readonly carryOver: CarryOver;
  readonly log: HeldFile;
  readonly file: HeldFile;
  /** So many commits, of one page each; and after which of them SQLite is asked for the length of the log. */
  readonly write: (commits: number, asked?: "each" | "last") => void;
  readonly sweep: () => void;
  /** Pages in the log that the file lacks. */
  readonly waiting: () => number;
  /** As in `carry-over.test.ts`, without what the commits were told. */
  readonly carried: () => readonly string[];
}

function isViewable(): boolean {
  const folder = temporaryFolder((clean) => onTestFinished(clean));
  const name = join(folder, "probe.db");
  const probe = driver.connect(name);
  probe.prepare("CREATE TABLE one (number INTEGER)").run();
  const viewed = tellsPages(probe) ? openViewed(realpathSync(name), connect) : undefined;
  viewed?.viewer.close();
  viewed?.driver.close();
  probe.close();
  return viewed !== undefined;
}

function world(): World {
  const told: string[] = [];
  const alone = driver.connect(path);
  alone.prepare("PRAGMA journal_mode = WAL").all();
  alone.prepare("CREATE TABLE one (number INTEGER PRIMARY KEY) STRICT").run();
  alone.close();
  const viewed = openViewed(realpathSync(path), connect)!;
  const sql = listened(viewed.driver, told, undefined);
  for (const pragma of ["wal_autocheckpoint = 0", "synchronous = NORMAL"]) sql.prepare(`PRAGMA ${pragma}`).all();
  const write = sql.prepare("INSERT INTO one VALUES (1) ON CONFLICT DO UPDATE SET number = 1");
  // Begun, as by the first commit of a server.
  write.run();
  const gathered = sql.prepare("PRAGMA wal_checkpoint(NOOP)");
  const [log, file] = [new HeldFile(`${path}-wal`), new HeldFile(path)];
  const { viewer } = viewed;
  const carryOver = new CarryOver({ driver: sql, viewer, sync: "normal", log, file, checkpointPages: 0 });
  onTestFinished(async () => {
    const closed = carryOver.close();
    for (const flushed of [log, file]) flushed.endAll();
    await closed;
  });
  return {
    carryOver,
    log,
    file,
    write(commits, asked = "each") {
      for (let i = 1; i <= commits; i++) {
        carryOver.commit(() => write.run(), asked === "each" || i === commits ? ASKED_PAGES : 0);
      }
    },
    sweep() {
      carryOver.sweep(() => {
        write.run();
        carryOver.swept();
      });
    },
    waiting() {
      const [row] = gathered.all();
      return Number(row?.["log"]) - Number(row?.["checkpointed"]);
    },
    carried: () => told.splice(0).filter((one) => !one.startsWith("INSERT")),
  };
}

describe("where a file can be viewed by a second connection", () => {
  test("its log is flushed as soon as a slice has gathered, and not one page before", (context) => {
    context.skip(!isViewable());
    const { log, write, waiting } = world();
    write(SLICE_PAGES - 2);
    expect([waiting(), log.begun]).toEqual([SLICE_PAGES - 1, 0]);
    write(1);
    expect([waiting(), log.begun]).toEqual([SLICE_PAGES, 1]);
    write(1);
    expect(log.begun).toBe(1);
  });

  test("what was flushed is carried over and no more, without a wait, while commits go on", async (context) => {
    context.skip(!isViewable());
    const { carryOver, log, file, write, waiting, carried } = world();
    write(SLICE_PAGES - 1);
    write(5);
    expect(carryOver.held).toBeUndefined();
    expect(carried()).toEqual([]);

    await log.end();
    expect(carried()).toEqual(["PASSIVE OFF"]);
    expect(waiting()).toBe(5);
    expect([carryOver.held, file.begun]).toEqual([undefined, 0]);
  });

  test("with nothing behind it a slice stays in the log, so that the log is not begun anew, and a sweep goes on", async (context) => {
    context.skip(!isViewable());
    const { carryOver, log, write, sweep, waiting, carried } = world();
    write(2 * SLICE_PAGES, "last");
    expect(carryOver.isReady()).toBe(false);
    await log.end();
    expect(carryOver.isReady()).toBe(true);
    expect([waiting(), carried()]).toEqual([2 * SLICE_PAGES + 1, []]);
    sweep();
    expect(carryOver.isReady()).toBe(false);
    expect(carried()).toEqual(["PASSIVE OFF"]);
    expect(waiting()).toBe(1);
  });

  test("a sweep waits while the log is flushed", async (context) => {
    context.skip(!isViewable());
    const { carryOver, log, sweep, write } = world();
    write(SLICE_PAGES - 2);
    expect(carryOver.isReady()).toBe(true);
    sweep();
    expect(carryOver.isReady()).toBe(false);
    expect(log.begun).toBe(1);
    expect(carryOver.isReady()).toBe(false);
    await log.end();
    expect(carryOver.isReady()).toBe(true);
  });

  test("commits wait for the disk when more has gathered than may be carried over at once", async (context) => {
    context.skip(!isViewable());
    const { carryOver, log, write, carried } = world();
    write(WAITING_PAGES_MAX - 2);
    expect(carryOver.held).toBeUndefined();
    write(1);
    const { held } = carryOver;
    expect(held).toBeDefined();
    await log.end();
    await held;
    expect(carryOver.held).toBeUndefined();
    expect(carried()).toEqual(["PASSIVE OFF"]);
  });

  test("what another thread cannot flush SQLite waits for itself", async (context) => {
    context.skip(!isViewable());
    const { log, write, waiting, carried } = world();
    write(SLICE_PAGES);
    await log.end(new Error("EIO"));
    expect(carried()).toEqual(["PASSIVE NORMAL"]);
    expect(waiting()).toBe(1);
  });

  test("a log that is long is begun anew: the file is flushed before commits wait, and again while they do", async (context) => {
    context.skip(!isViewable());
    const { carryOver, log, file, write, waiting, carried } = world();
    for (let written = 1; written < LOG_PAGES - SLICE_PAGES; written += SLICE_PAGES) {
      write(SLICE_PAGES);
      await log.end();
    }
    carried();
    expect(file.begun).toBe(0);
    for (; file.begun === 0; await log.end()) write(SLICE_PAGES);
    expect(carryOver.held).toBeUndefined();
    write(3);
    await file.end();
    // A slice that is being flushed comes to its end before that.
    await vi.waitFor(async () => {
      if (carryOver.held === undefined) await log.end();
      expect(carryOver.held).toBeDefined();
    });
    expect(carryOver.isReady()).toBe(false);
    const { held } = carryOver;
    await vi.waitUntil(() => file.begun === 2);
    expect(waiting()).toBe(0);
    await file.end();
    await log.end();
    await held;
    expect(carryOver.held).toBeUndefined();
    carried();
    write(1);
    expect(waiting()).toBe(1);
    expect(statSync(`${path}-wal`).size).toBeLessThan((LOG_PAGES + 3 * SLICE_PAGES) * 4120);
  });

  test("a file that is closed meanwhile is closed when the log is flushed", async (context) => {
    context.skip(!isViewable());
    const { carryOver, log, write } = world();
    write(SLICE_PAGES);
    const closed = carryOver.close();
    expect(closed).toBeInstanceOf(Promise);
    await log.end();
    await closed;
    expect(() => write(1)).toThrow(/closed|not open|finalized/);
  });

  test("never more is carried over at once than a slice and what came meanwhile, whoever has written it", async (context) => {
    context.skip(!isViewable());
    const slices: number[] = [];
    const clock = new TestClock();
    const store = openFile(path, { clock }, (name) => counted(driver.connect(name), slices));
    onTestFinished(async () => store.close());
    const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
    for (let i = 0; i < 2500; i++) {
      const record = done(`k${Math.imul(i, 0x9e3779b1) >>> 0}`, 2000, new Uint8Array(2000));
      await store.commit("default", batch(recordChange(record)));
      if (i % 8 === 0) await turn();
    }
    for (; store.sweep(90_000, 64) <= 90_000; await turn());
    const sum = slices.reduce((a, b) => a + b, 0);
    expect(sum).toBeGreaterThan(10 * SLICE_PAGES);
    expect(Math.max(...slices)).toBeLessThan(WAITING_PAGES_MAX + 2 * SLICE_PAGES);
  });

  test("what a killed server has left in the log is in the file before anybody is served", async (context) => {
    context.skip(!isViewable());
    const clock = new TestClock();
    const store = driver.open(path, { clock });
    onTestFinished(async () => store.close());
    const records = Array.from({ length: 1000 }, (_, i) => done(`k${i}`, 90_000, new Uint8Array(2000)));
    await store.commit("default", batch(...records.map(recordChange)));
    for (const name of ["", "-wal"]) cpSync(`${path}${name}`, `${path}-left${name}`);
    expect(statSync(`${path}-left-wal`).size).toBeGreaterThan(500 * 4120);

    const next = driver.open(`${path}-left`, { clock });
    onTestFinished(async () => next.close());
    expect(statSync(`${path}-left-wal`).size).toBeLessThan(5 * 4120);
    expect(next.find("default", "k999")?.state).toBe("done");
  });

  test("another thread of the process that is about to open it has it alone", async (context) => {
    context.skip(!isViewable());
    const open = () => driver.open(path, { clock: new TestClock(), waitMs: 0 });
    await open().close();
    const guard = driver.connect(guardOf(realpathSync(path)));
    guard.prepare("BEGIN EXCLUSIVE").run();
    expect(open).toThrow(expect.objectContaining({ code: "in_use" }));
    guard.close();
    await open().close();
  });
});

test("a file that cannot be viewed by a second connection is served by one", async () => {
  const clock = new TestClock();
  const store = openFile(path, { clock }, (name) => {
    if (name.startsWith("file:")) throw new Error("no such vfs: unix-excl");
    return driver.connect(name);
  });
  await store.commit("default", batch(recordChange(done("k", 90_000))));
  await store.close();
  const next = driver.open(path, { clock });
  onTestFinished(async () => next.close());
  expect(next.find("default", "k")?.state).toBe("done");
});

/** How many pages each carrying over takes. */
function counted(inner: SqlDriver, slices: number[]): SqlDriver {
  let before = 0;
  return {
    ...inner,
    prepare(sql) {
      const statement = inner.prepare(sql);
      if (!/wal_checkpoint\(PASSIVE\)/.test(sql)) return statement;
      return {
        ...statement,
        all(...values) {
          const rows = statement.all(...values);
          const after = Number(rows[0]?.["checkpointed"]);
          slices.push(after >= before ? after - before : after);
          before = after;
          return rows;
        },
      };
    },
  };
}
