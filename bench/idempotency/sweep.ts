/** Whether anybody feels that expired records are swept: the pauses are those of the calls that the host makes one by one. */

import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/host/clock.ts";
import type { Store } from "../../src/host/ports.ts";
import { quantile } from "../figures.ts";
import { fill, keyOf, TTL_MS } from "./filling.ts";
import { collectGarbage } from "./garbage.ts";
import { Stopwatch } from "./stopwatch.ts";
import { inWords, verdict } from "./words.ts";

/** As the host calls it. */
export const SWEPT_MAX = 128;
/** A pause above this could be noticed. */
const PAUSE_MAX_MS = 5;
/** The disk itself is tried after so many calls. */
const PROBE_EVERY = 8;
/** About a ms of arithmetic. */
const STEPS = 500_000;

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
  const pauses: number[] = [];
  const waits: number[] = [];
  const stalls: number[] = [];
  let workedMax = 0;
  for (let next = later; next <= later;) {
    const watch = new Stopwatch();
    next = store.sweep(later, SWEPT_MAX);
    const { paused, worked } = watch.read();
    pauses.push(paused);
    workedMax = Math.max(workedMax, worked);
    if (pauses.length % PROBE_EVERY === 0) waits.push(disk.waitMs());
    stalls.push(arithmeticMs());
  }
  if (store.find("default", keyOf(0)) !== undefined) throw new Error("a record was left");
  disk.close();
  await store.close();
  console.log(`\n  ${inWords(count)} expired records ${where}, swept by ${pauses.length} calls`);
  console.log(`    a call                       ${told(pauses)}; its work alone at most ${workedMax.toFixed(2)} ms`);
  console.log(`    the disk alone, one fsync    ${told(waits)}`);
  console.log(`    arithmetic, after each call  ${told(stalls)}`);
  verdict(`no work over ${PAUSE_MAX_MS} ms`, workedMax <= PAUSE_MAX_MS);
  verdict(`no pause over ${PAUSE_MAX_MS} ms, waits for the disk included`, quantile(pauses, 1) <= PAUSE_MAX_MS);
}

export function told(times: readonly number[]): string {
  const [half, most, longest] = [0.5, 0.99, 1].map((share) => quantile(times, share).toFixed(2));
  const over = times.filter((time) => time > PAUSE_MAX_MS).length;
  const percent = ((100 * over) / times.length).toFixed(1);
  return `median ${half} ms, 99 % within ${most} ms, longest ${longest} ms, ${percent} % over ${PAUSE_MAX_MS} ms`;
}

/** Always as much, and nothing but the processor: when it takes long, the machine had somebody else to serve. */
function arithmeticMs(): number {
  const watch = new Stopwatch();
  let sum = 1;
  for (let step = 0; step < STEPS; step++) sum = (Math.imul(sum, 1_103_515_245) + step) | 0;
  // Used, so that no compiler leaves it out.
  return watch.read().paused + (sum === 0 ? Number.MIN_VALUE : 0);
}

/** What a page costs to be on this disk, now: what no store that keeps its word can be below. */
class Disk {
  readonly #file: number;
  readonly #page = new Uint8Array(4096);

  constructor(path: string) {
    this.#file = openSync(path, "w");
  }

  waitMs(): number {
    const watch = new Stopwatch();
    writeSync(this.#file, this.#page, 0, this.#page.length, 0);
    fsyncSync(this.#file);
    return watch.read().paused;
  }

  close(): void {
    closeSync(this.#file);
  }
}
