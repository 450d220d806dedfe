/**
 * Takes what sweeps have deleted out of the log and into the file, a little at a time. SQLite would wait for the disk three times
 * with each carrying over: for the log before it, for the file after it, and for the log's new header with the next commit. Here
 * another thread waits, in the same order, and SQLite is told not to (`synchronous = OFF`) only where nothing is left to wait for:
 *
 * 1. All of the log is flushed. If commits came meanwhile, once more, and from here on they wait for the end.
 * 2. What it holds is written to the file. A power cut finds all of it in the log, and carries it over again.
 * 3. The file is flushed. Until that is done the log must not be begun anew, which the next commit would do.
 * 4. The log's header is made void, and that is flushed. Else a power cut could find it before the new pages behind it, and carry
 *    over the old ones up to them. The commit after that writes a new header, with nothing before it that it must not meet.
 *    (To cut the log off, as `wal_checkpoint(TRUNCATE)` does, is the same to SQLite, and takes 5 to 30 ms where a file system tells
 *    the disk of the blocks that it frees.)
 *
 * What fails on the way is left to SQLite, which then waits for the disk itself.
 */

import type { SqlDriver, SqlStatement } from "./driver.ts";
import type { FlushedFile } from "./flushed-file.ts";
import type { StoreFile } from "./sqlite.ts";

export interface CarryOverParts {
  readonly driver: SqlDriver;
  readonly sync: "normal" | "full";
  readonly log: FlushedFile;
  readonly file: FlushedFile;
  /** As many pages in the log make SQLite carry them over itself. */
  readonly checkpointPages: number;
}

/** Carried over when the log has so many pages: written in 1 ms. With more of them a commit waits more seldom. */
export const GATHERED_PAGES = 256;
/** Of the log's header (https://sqlite.org/fileformat2.html#the_wal_file_format). */
const HEADER_BYTES = 32;
/** Where SQLite cannot tell how many pages wait: so many sweeps have written about as many. */
export const GATHERED_SWEEPS = 14;

export class CarryOver implements StoreFile {
  readonly #parts: CarryOverParts;
  /** Undefined: this SQLite (before 3.51) cannot tell. */
  readonly #pages: SqlStatement | undefined;
  readonly #carry: SqlStatement;
  /** Since the log was carried over, those that have deleted something. */
  #sweepCount = 0;
  #hasSwept = false;
  #commitCount = 0;
  #underWay: Promise<void> | undefined;
  #held: Promise<void> | undefined;
  /** Nothing was committed since the log was carried over by us. */
  #isCarried = false;
  /** The log has no header, also on the disk. */
  #isVoid = false;
  /** What the next sweep is to be told. */
  #failed: { readonly error: unknown } | undefined;
  /** The file is not on the disk and cannot be brought there; all that it lacks is in the log. */
  #broken: { readonly error: unknown } | undefined;

  constructor(parts: CarryOverParts) {
    const { driver } = parts;
    this.#parts = parts;
    const [version] = driver.prepare("SELECT sqlite_version() AS version").all();
    const [major = 0, minor = 0] = String(version?.["version"]).split(".").map(Number);
    // Before that, NOOP carries over.
    if (major > 3 || minor >= 51) this.#pages = driver.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#carry = driver.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  }

  get held(): Promise<void> | undefined {
    return this.#held;
  }

  swept(): void {
    this.#hasSwept = true;
  }

  isReady(): boolean {
    const failed = this.#broken ?? this.#failed;
    this.#failed = undefined;
    if (failed !== undefined) throw failed.error;
    if (this.#underWay !== undefined) return false;
    if (!this.#isDue()) return true;
    this.#underWay = this.#carryOver().then(
      () => this.#end(),
      (error: unknown) => {
        this.#failed = { error };
        this.#end();
      },
    );
    return false;
  }

  commit(work: () => void): void {
    if (this.#isVoid && this.#parts.sync === "normal") this.#commitFirst(work);
    else this.#commitNext(work);
  }

  sweep(work: () => void): void {
    const { driver, sync } = this.#parts;
    const transaction = (): void => driver.transaction(work);
    this.#hasSwept = false;
    if (this.#isVoid) {
      this.#commitFirst(transaction);
      // One that has found nothing has written nothing.
      this.#isVoid = !this.#hasSwept;
      this.#isCarried = !this.#hasSwept;
    } else if (sync === "normal") {
      this.#commitNext(transaction);
    } else {
      // What a power cut brings back is deleted once more: nobody has to wait for the disk.
      this.#synchronous("NORMAL", () => this.#commitNext(transaction));
    }
    if (this.#hasSwept) this.#sweepCount += 1;
  }

  close(): void | Promise<void> {
    if (this.#underWay !== undefined) return this.#underWay.then(() => this.close());
    const { driver, log, file } = this.#parts;
    // SQLite removes a log that it has carried over, and does not know that this came to nothing.
    if (this.#broken === undefined) driver.close();
    else log.keep(() => driver.close());
    file.close();
    log.close();
  }

  async #carryOver(): Promise<void> {
    const { log, file } = this.#parts;
    const before = this.#commitCount;
    let isFlushed = await succeeds(log.flush());
    const release = this.#hold();
    try {
      if (isFlushed && this.#commitCount !== before) isFlushed = await succeeds(log.flush());
      if (!this.#carryAll(isFlushed)) return;
      await this.#flushFile(file);
      this.#isCarried = true;
      this.#isVoid = await succeeds(log.blank(HEADER_BYTES).then(() => log.flush()));
    } finally {
      release();
    }
  }

  /** Returns whether the log has nothing any more that the file lacks. */
  #carryAll(isFlushed: boolean): boolean {
    const carry = (): boolean => {
      const [row] = this.#carry.all();
      return row !== undefined && row["log"] === row["checkpointed"];
    };
    return isFlushed ? this.#synchronous("OFF", carry) : carry();
  }

  async #flushFile(file: FlushedFile): Promise<void> {
    try {
      await file.flush();
    } catch (error) {
      this.#broken = { error };
      throw error;
    }
  }

  /** Commits wait until the returned function is called. */
  #hold(): () => void {
    let release = (): void => {};
    this.#held = new Promise((resolve) => {
      release = resolve;
    });
    return () => {
      this.#held = undefined;
      release();
    };
  }

  #end(): void {
    this.#underWay = undefined;
    this.#sweepCount = 0;
  }

  #commitNext(work: () => void): void {
    if (this.#broken !== undefined) throw this.#broken.error;
    this.#commitCount += 1;
    this.#isCarried = false;
    this.#isVoid = false;
    work();
  }

  /** The log has no header on the disk: the new one need not be there before the pages behind it. */
  #commitFirst(work: () => void): void {
    const { driver, checkpointPages } = this.#parts;
    // Not by itself: it would not wait for the disk either.
    driver.exec("PRAGMA wal_autocheckpoint = 0");
    try {
      this.#synchronous("OFF", () => this.#commitNext(work));
    } finally {
      driver.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    }
  }

  #synchronous<T>(mode: "OFF" | "NORMAL", work: () => T): T {
    const { driver, sync } = this.#parts;
    driver.exec(`PRAGMA synchronous = ${mode}`);
    try {
      return work();
    } finally {
      driver.exec(`PRAGMA synchronous = ${sync}`);
    }
  }

  #isDue(): boolean {
    if (this.#pages === undefined) return this.#sweepCount >= GATHERED_SWEEPS;
    const [row] = this.#pages.all();
    const waiting = Number(row?.["log"]) - Number(row?.["checkpointed"]);
    // Where nothing waits, the next commit begins the log anew, and would wait for the disk.
    return waiting === 0 ? !this.#isCarried : waiting >= GATHERED_PAGES && this.#sweepCount > 0;
  }
}

function succeeds(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
