/** Two ways to find the records that have expired: by a walk over all of them, or by an index. */

import type { Clock } from "../host/ports.ts";
import type { SqlDriver, SqlStatement } from "./driver.ts";

/** As `Store.sweep`. */
export interface RecordSweep {
  sweep(now: number, countMax: number): number;
}

/** A walk stops after this long, ms: nobody shall notice it, nor what its commit takes on top of it. */
const SWEEP_MS = 1;
/** Rows that are read together, from 3 pages or so: where the disk has to be asked for each, they take a while. */
const ROWS_READ = 32;

/** What the file that is swept wants to be done with it; in a space's object nothing. */
export interface SweptFile {
  /** False: not now, and the sweep is to be called again. */
  isReady(): boolean;
  /** As `SqlDriver.transaction`. */
  sweep(work: () => void): void;
  /** Something was deleted. */
  swept(): void;
}

interface Place {
  readonly space: string;
  readonly key: string;
}

const START: Place = { space: "", key: "" };

/**
 * In the order of keys, which is the order of the tree, some rows at a time: 256 of them are 20 pages to write. Those that an index
 * gives expire together and lie all over the tree: each is a page of its own. And the index is a page more to write for each start
 * and each result.
 */
export class WalkingSweep implements RecordSweep {
  readonly #file: SweptFile;
  readonly #clock: Clock;
  readonly #walk: SqlStatement;
  readonly #drop: SqlStatement;
  /** Where the walk has got to; undefined: none is under way. */
  #at: Place | undefined;
  /** The soonest expiry among the rows that the walk has left, in wall time. */
  #nextWall = Number.POSITIVE_INFINITY;

  constructor(driver: SqlDriver, clock: Clock, file: SweptFile) {
    this.#file = file;
    this.#clock = clock;
    this.#walk = driver.prepare(
      "SELECT space, key, expires FROM record WHERE (space, key) > (?, ?) ORDER BY space, key LIMIT ?",
    );
    this.#drop = driver.prepare(DROP);
  }

  sweep(now: number, countMax: number): number {
    if (!this.#file.isReady()) return now;
    const wall = wallOf(now, this.#clock);
    if (this.#at === undefined) this.#nextWall = Number.POSITIVE_INFINITY;
    let at: Place | undefined;
    this.#file.sweep(() => {
      at = this.#go(wall, countMax);
    });
    this.#at = at;
    // Not `now` at the end, also where a row has become due behind the walk: the next one is for the host to begin.
    return at === undefined ? Math.max(now + 1, now + this.#nextWall - wall) : now;
  }

  /** Returns where it has got to; undefined: there are no more rows. */
  #go(wall: number, countMax: number): Place | undefined {
    const until = this.#clock.now() + SWEEP_MS;
    let at = this.#at ?? START;
    for (let left = countMax; left > 0; left -= ROWS_READ) {
      const count = Math.min(ROWS_READ, left);
      const rows = this.#walk.all(at.space, at.key, count);
      for (const row of rows) {
        at = { space: String(row["space"]), key: String(row["key"]) };
        // One with a large result is hundreds of pages by itself.
        if (this.#dropIfDue(at, row["expires"], wall) && this.#clock.now() >= until) return at;
      }
      if (rows.length < count) return undefined;
      if (this.#clock.now() >= until) return at;
    }
    return at;
  }

  #dropIfDue({ space, key }: Place, expires: unknown, wall: number): boolean {
    if (typeof expires !== "number") return false;
    if (expires > wall) {
      this.#nextWall = Math.min(this.#nextWall, expires);
      return false;
    }
    this.#drop.run(space, key);
    this.#file.swept();
    return true;
  }
}

export const EXPIRY_INDEX = "CREATE INDEX record_expiry ON record (expires) WHERE expires IS NOT NULL";

/** The soonest first, for stores where it is dear to look at a row and nobody waits for a disk. */
export class IndexedSweep implements RecordSweep {
  readonly #driver: SqlDriver;
  readonly #clock: Clock;
  readonly #due: SqlStatement;
  readonly #next: SqlStatement;
  readonly #drop: SqlStatement;

  constructor(driver: SqlDriver, clock: Clock) {
    this.#driver = driver;
    this.#clock = clock;
    this.#due = driver.prepare("SELECT space, key FROM record WHERE expires <= ? ORDER BY expires LIMIT ?");
    this.#next = driver.prepare("SELECT expires FROM record WHERE expires IS NOT NULL ORDER BY expires LIMIT 1");
    this.#drop = driver.prepare(DROP);
  }

  /** Not broken off: to go on later would cost another alarm, and the clock of such a store hardly moves within a turn. */
  sweep(now: number, countMax: number): number {
    const wall = wallOf(now, this.#clock);
    const due = this.#due.all(wall, countMax);
    if (due.length > 0) {
      this.#driver.transaction(() => {
        for (const row of due) this.#drop.run(String(row["space"]), String(row["key"]));
      });
    }
    const [next] = this.#next.all();
    return next === undefined ? Number.POSITIVE_INFINITY : Math.max(now, now + Number(next["expires"]) - wall);
  }
}

const DROP = "DELETE FROM record WHERE space = ? AND key = ?";

function wallOf(now: number, clock: Clock): number {
  return Math.floor(clock.wall() - clock.now() + now);
}
