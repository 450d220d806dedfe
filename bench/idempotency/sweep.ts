/** Whether anybody feels that expired records are swept: the pauses are those of the calls that the host makes one by one. */

import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/host/clock.ts";
import type { Store } from "../../src/host/ports.ts";
import { PAUSE_MS, SWEPT_MAX } from "../../src/host/sweeper.ts";
import { fill, keyOf, TTL_MS } from "./filling.ts";
import { collectGarbage } from "./garbage.ts";
import { judge } from "./pauses.ts";
import { Stopwatch, type Taken } from "./stopwatch.ts";
import { inWords, lines, verdict } from "./words.ts";

/** A pause above this could be noticed. */
export const PAUSE_MAX_MS = 5;
/** The disk itself is tried after so many calls. More often, and what the calls find has just been written for them. */
const PROBE_EVERY = 16;
/** Of arithmetic: less than a ms, also before it is compiled. */
const STEPS = 100_000;

export interface Sweeping {
  readonly where: string;
  readonly filling: Store;
  /** The same store, or the file opened anew, so that what the filling has left in the log is in the file. */
  readonly reopen: () => Store;
  readonly count: number;
  readonly folder: string;
}

export async function sweep({ where, filling, reopen, count, folder }: Sweeping): Promise<void> {
  await fill(filling, count);
  await filling.close();
  const store = reopen();
  await store.load("default");
  await collectGarbage();
  const disk = new Disk(join(folder, "probe"));
  const later = systemClock.now() + 2 * TTL_MS;
  const calls: Taken[] = [];
  const waits: Taken[] = [];
  const stalls: Taken[] = [];
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
  if (store.find("default", keyOf(0)) !== undefined) throw new Error("a record was left");
  disk.close();
  await store.close();
  console.log(`\n  ${inWords(count)} expired records ${where}, swept in ${seconds.toFixed(0)} s`);
  const judged = judge(calls, PAUSE_MAX_MS);
  for (const line of lines("a call", judged)) console.log(line);
  for (const line of lines("beside it: arithmetic alone", judge(stalls, PAUSE_MAX_MS))) console.log(line);
  for (const line of lines("beside it: one fsync alone", judge(waits, PAUSE_MAX_MS))) console.log(line);
  const own = Math.max(...calls.map((call) => call.own ?? Number.NaN));
  if (!Number.isNaN(own)) verdict(`no work over ${PAUSE_MAX_MS} ms (at most ${own.toFixed(1)})`, own <= PAUSE_MAX_MS);
  verdict(`no pause over ${PAUSE_MAX_MS} ms, waits for the disk included`, judged.holds);
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
