/** Two ways to find the records that have expired: by a walk over all of them, or by an index. */

import type { Clock } from "../host/ports.ts";
import type { SqlDriver, SqlRow, SqlStatement } from "./driver.ts";

/** As `Store.sweep`. */
export interface RecordSweep {
  sweep(now: number, countMax: number): number;
}

/** A walk stops deleting after this long, ms: nobody shall notice it. */
const SWEEP_MS = 2;

/**
 * In the order of keys, which is the order of the tree, some rows at a time: 256 of them are 20 pages to write. Those that an index
 * gives expire together and lie all over the tree: each is a page of its own. And the index is a page more to write for each start
 * and each result.
 */
export class WalkingSweep implements RecordSweep {
  readonly #deletion: Deletion;
  readonly #clock: Clock;
  readonly #walk: SqlStatement;
  /** Where the walk has got to; undefined: none is under way. */
  #at: { readonly space: string; readonly key: string } | undefined;
  /** The soonest expiry among the rows that the walk has left, in wall time. */
  #nextWall = Number.POSITIVE_INFINITY;

  constructor(driver: SqlDriver, clock: Clock, deletion: Deletion) {
    this.#deletion = deletion;
    this.#clock = clock;
    this.#walk = driver.prepare(
      "SELECT space, key, expires FROM record WHERE (space, key) > (?, ?) ORDER BY space, key LIMIT ?",
    );
  }

  sweep(now: number, countMax: number): number {
    const wall = wallOf(now, this.#clock);
    const from = this.#at ?? { space: "", key: "" };
    if (this.#at === undefined) this.#nextWall = Number.POSITIVE_INFINITY;
    const rows = this.#walk.all(from.space, from.key, countMax);
    const due: SqlRow[] = [];
    for (const row of rows) {
      const expires = row["expires"];
      if (typeof expires !== "number") continue;
      if (expires <= wall) due.push(row);
      else this.#nextWall = Math.min(this.#nextWall, expires);
    }
    const stoppedAt = this.#deletion.run(due, SWEEP_MS);
    const last = stoppedAt ?? (rows.length < countMax ? undefined : rows.at(-1));
    this.#at = last && { space: String(last["space"]), key: String(last["key"]) };
    // Not `now` at the end, also where a row has become due behind the walk: the next one is for the host to begin.
    return this.#at === undefined ? Math.max(now + 1, now + this.#nextWall - wall) : now;
  }
}

export const EXPIRY_INDEX = "CREATE INDEX record_expiry ON record (expires) WHERE expires IS NOT NULL";

/** The soonest first, for stores where it is dear to look at a row and nobody waits for a disk. */
export class IndexedSweep implements RecordSweep {
  readonly #deletion: Deletion;
  readonly #clock: Clock;
  readonly #due: SqlStatement;
  readonly #next: SqlStatement;

  constructor(driver: SqlDriver, clock: Clock, deletion: Deletion) {
    this.#deletion = deletion;
    this.#clock = clock;
    this.#due = driver.prepare("SELECT space, key FROM record WHERE expires <= ? ORDER BY expires LIMIT ?");
    this.#next = driver.prepare("SELECT expires FROM record WHERE expires IS NOT NULL ORDER BY expires LIMIT 1");
  }

  sweep(now: number, countMax: number): number {
    const wall = wallOf(now, this.#clock);
    // To go on later would cost another alarm, and the clock of such a store hardly moves within a turn.
    this.#deletion.run(this.#due.all(wall, countMax), Number.POSITIVE_INFINITY);
    const [next] = this.#next.all();
    return next === undefined ? Number.POSITIVE_INFINITY : Math.max(now, now + Number(next["expires"]) - wall);
  }
}

export class Deletion {
  readonly #driver: SqlDriver;
  readonly #clock: Clock;
  readonly #onDeleted: (() => void) | undefined;
  readonly #drop: SqlStatement;

  constructor(driver: SqlDriver, clock: Clock, onDeleted: (() => void) | undefined) {
    this.#driver = driver;
    this.#clock = clock;
    this.#onDeleted = onDeleted;
    this.#drop = driver.prepare("DELETE FROM record WHERE space = ? AND key = ?");
  }

  /** Returns the last row that was deleted when `forMs` was not enough for all. */
  run(due: readonly SqlRow[], forMs: number): SqlRow | undefined {
    if (due.length === 0) return undefined;
    const until = this.#clock.now() + forMs;
    let stoppedAt: SqlRow | undefined;
    this.#driver.transaction(() => {
      for (const row of due) {
        this.#drop.run(String(row["space"]), String(row["key"]));
        if (this.#clock.now() < until || row === due.at(-1)) continue;
        stoppedAt = row;
        return;
      }
    });
    this.#onDeleted?.();
    return stoppedAt;
  }
}

function wallOf(now: number, clock: Clock): number {
  return Math.floor(clock.wall() - clock.now() + now);
}
