/** Whether anybody feels that expired records are swept: the pauses are those of the calls that the host makes one by one. */

import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/host/clock.ts";
import type { Store } from "../../src/host/ports.ts";
import { PAUSE_MS, SWEPT_MAX } from "../../src/host/sweeper.ts";
import type { SqlDriver } from "../../src/stores/driver.ts";
import { fill, keyOf, recordOf, TTL_MS } from "./filling.ts";
import { collectGarbage } from "./garbage.ts";
import { judge } from "./pauses.ts";
import { Stopwatch, type Taken } from "./stopwatch.ts";
import { inWords, lines, verdict } from "./words.ts";

/** A pause above this could be noticed. */
export const PAUSE_MAX_MS = 5;
/** The disk itself is tried after so many calls. More often, and what the calls find has just been written for them. */
const PROBE_EVERY = 16;
/** Between commits beside it, ms. */
const COMMIT_EVERY_MS = 50;
/** Of arithmetic: less than a ms, also before it is compiled. */
const STEPS = 100_000;

export interface Sweeping {
  readonly where: string;
  readonly filling: Store;
  /** The same store, or the file opened anew, so that what the filling has left in the log is in the file. */
  readonly reopen: (listen: Listen) => Store;
  readonly count: number;
  readonly folder: string;
  /** False: what it is compared with, of which nothing is promised. */
  readonly isOurs?: boolean;
}

/** Has what is done between the calls timed as well. */
export type Listen = (driver: SqlDriver) => SqlDriver;

export async function sweep({ where, filling, reopen, count, folder, isOurs = true }: Sweeping): Promise<void> {
  await fill(filling, count);
  await filling.close();
  const steps: Taken[] = [];
  const store = reopen((driver) => timed(driver, steps));
  await store.load("default");
  await collectGarbage();
  const disk = new Disk(join(folder, "probe"));
  const later = systemClock.now() + 2 * TTL_MS;
  const calls: Taken[] = [];
  const waits: Taken[] = [];
  const stalls: Taken[] = [];
  const beside = new Beside(store, later + TTL_MS, count);
  const begun = performance.now();
  for (let next = later; next <= later;) {
    const watch = new Stopwatch();
    next = store.sweep(later, SWEPT_MAX);
    calls.push(watch.read());
    stalls.push(arithmetic());
    if (calls.length % PROBE_EVERY === 0) waits.push(disk.wait());
    // As the host waits: others are served, and so is what the store has the disk do meanwhile.
    await pause(PAUSE_MS);
  }
  const seconds = (performance.now() - begun) / 1000;
  await beside.end();
  if (store.find("default", keyOf(0)) !== undefined) throw new Error("a record was left");
  disk.close();
  await store.close();
  console.log(`\n  ${inWords(count)} expired records ${where}, swept in ${seconds.toFixed(0)} s`);
  const told: readonly (readonly [name: string, taken: readonly Taken[]])[] = [
    ["a call", calls],
    ["between calls: carrying over", steps],
    ["a commit beside it, for others", beside.pauses],
    ["for itself, until it is made", beside.waits],
    ["beside it: arithmetic alone", stalls],
    ["beside it: one fsync alone", waits],
  ];
  for (const [name, taken] of told) {
    if (taken.length > 0) for (const line of lines(name, judge(taken, PAUSE_MAX_MS))) console.log(line);
  }
  if (isOurs) conclude([...calls, ...steps], beside.pauses);
}

function conclude(calls: readonly Taken[], commits: readonly Taken[]): void {
  const own = Math.max(...calls.map((call) => call.own ?? Number.NaN));
  if (!Number.isNaN(own)) verdict(`no work over ${PAUSE_MAX_MS} ms (at most ${own.toFixed(1)})`, own <= PAUSE_MAX_MS);
  const [swept, committed] = [calls, commits].map((taken) => judge(taken, PAUSE_MAX_MS).holds);
  verdict(`no pause over ${PAUSE_MAX_MS} ms, waits for the disk included`, swept === true);
  verdict(`no commit beside it keeps others waiting for more than ${PAUSE_MAX_MS} ms`, committed === true);
}

/** What a store does to its log between the calls keeps everybody waiting as they do. */
function timed(driver: SqlDriver, steps: Taken[]): SqlDriver {
  return {
    ...driver,
    prepare(sql) {
      const statement = driver.prepare(sql);
      if (!/wal_checkpoint\(PASSIVE\)/.test(sql)) return statement;
      return {
        ...statement,
        all(...values) {
          const watch = new Stopwatch();
          const rows = statement.all(...values);
          steps.push(watch.read());
          return rows;
        },
      };
    },
  };
}

/** Somebody who commits something now and then, whatever the sweep is at. */
class Beside {
  /** How long each commit kept everybody waiting. */
  readonly pauses: Taken[] = [];
  /** How long it took until each was made, while others may have been served. */
  readonly waits: Taken[] = [];
  readonly #store: Store;
  readonly #expiresAt: number;
  readonly #timer: ReturnType<typeof setInterval>;
  #count: number;
  #underWay: Promise<void> | undefined;

  constructor(store: Store, expiresAt: number, count: number) {
    this.#store = store;
    this.#expiresAt = expiresAt;
    this.#count = count;
    this.#timer = setInterval(() => {
      // As a space does: one at a time.
      if (this.#underWay === undefined) this.#commit();
    }, COMMIT_EVERY_MS);
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#underWay;
  }

  #commit(): void {
    const record = { ...recordOf(this.#count++), expiresAt: this.#expiresAt };
    const begun = performance.now();
    const watch = new Stopwatch();
    const made = this.#store.commit("default", { changes: [{ kind: "record", record }], changeCount: 1 });
    const taken = watch.read();
    this.pauses.push(taken);
    if (!(made instanceof Promise)) return void this.waits.push(taken);
    this.#underWay = made.then(() => {
      this.#underWay = undefined;
      this.waits.push({ wall: performance.now() - begun, own: undefined, core: 0 });
    });
  }
}

/** Always as much, and nothing but the processor: when it takes long, the machine had somebody else to serve. */
function arithmetic(): Taken {
  const watch = new Stopwatch();
  const sum = add(STEPS);
  const taken = watch.read();
  // Used, so that no compiler leaves it out.
  return sum === 0 ? { ...taken } : taken;
}

function add(steps: number): number {
  let sum = 1;
  for (let step = 0; step < steps; step++) sum = (Math.imul(sum, 1_103_515_245) + step) | 0;
  return sum;
}

/** What a page costs to be on this disk, now: what no store that keeps its word can be below. */
class Disk {
  readonly #file: number;
  readonly #page = new Uint8Array(4096);

  constructor(path: string) {
    this.#file = openSync(path, "w");
  }

  wait(): Taken {
    const watch = new Stopwatch();
    writeSync(this.#file, this.#page, 0, this.#page.length, 0);
    fsyncSync(this.#file);
    return watch.read();
  }

  close(): void {
    closeSync(this.#file);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
