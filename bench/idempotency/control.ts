/**
 * What as many entries in a bare table cost when they are deleted in the same slices: beside the sweep in memory, so that the
 * runtime's own pauses (its collector's, and those of a Map that shrinks) are told from ours.
 */

import { SWEPT_MAX } from "../../src/host/sweeper.ts";
import { KeyTable } from "../../src/stores/key-table.ts";
import { keyOf, recordOf } from "./filling.ts";
import { collectGarbage } from "./garbage.ts";
import { judge } from "./pauses.ts";
import { Stopwatch, type Taken } from "./stopwatch.ts";
import { PAUSE_MAX_MS } from "./sweep.ts";
import { lines } from "./words.ts";

interface Table {
  readonly set: (key: string, value: unknown) => unknown;
  readonly delete: (key: string) => unknown;
}

export async function controls(count: number): Promise<void> {
  await control("one bare Map as large", new Map<string, unknown>(), count);
  await control("our table of many Maps, bare", new KeyTable(), count);
}

async function control(name: string, table: Table, count: number): Promise<void> {
  for (let i = 0; i < count; i++) table.set(keyOf(i), recordOf(i));
  await collectGarbage();
  const taken: Taken[] = [];
  for (let i = 0; i < count;) {
    const watch = new Stopwatch();
    for (const end = Math.min(i + SWEPT_MAX, count); i < end; i++) table.delete(keyOf(i));
    taken.push(watch.read());
  }
  for (const line of lines(name, judge(taken, PAUSE_MAX_MS))) console.log(line);
}
