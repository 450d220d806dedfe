/**
 * Takes what sweeps have deleted out of the log and into the file, a little at a time. SQLite would wait for the disk three times
 * with each carrying over: for the log before it, for the file after it, and for the log's new header with the next commit. Here
 * another thread waits, in the same order, and SQLite is told not to (`synchronous = OFF`) only where nothing is left to wait for:
 *
 * 1. All of the log is flushed. If commits came meanwhile, once more, and from here on they wait for the end.
 * 2. What it holds is written to the file. A power cut finds all of it in the log, and carries it over again.
 * 3. The file is flushed. Until that is done the log must not be begun anew, which the next commit would do.
 * 4. The log is made empty, and that is flushed. Else a power cut could find old pages of it behind its new header's place, and
 *    carry over the first few of them. The commit after that writes the header, with nothing behind it that it must not meet.
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

/** Carried over when the log has so many pages: written in 1 ms, and seldom. */
export const GATHERED_PAGES = 128;
/** Of a page in the log, and of the log's header. */
const [FRAME_BYTES, HEADER_BYTES] = [4096 + 24, 32];

export class CarryOver implements StoreFile {
  readonly #parts: CarryOverParts;
  /** Undefined: this SQLite (before 3.51) cannot tell. */
  readonly #pages: SqlStatement | undefined;
  readonly #carry: SqlStatement;
  readonly #empty: SqlStatement;
  #hasSwept = false;
  #commitCount = 0;
  #underWay: Promise<void> | undefined;
  #held: Promise<void> | undefined;
  /** The log is, also on the disk. */
  #isEmpty = false;
  /** What the next sweep is to be told. */
  #error: { readonly error: unknown } | undefined;
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
    this.#empty = driver.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  get held(): Promise<void> | undefined {
    return this.#held;
  }

  swept(): void {
    this.#hasSwept = true;
  }

  isReady(): boolean {
    if (this.#error !== undefined) {
      const { error } = this.#error;
      this.#error = undefined;
      throw error;
    }
    if (this.#underWay !== undefined) return false;
    if (!this.#hasSwept || !this.#hasGathered()) return true;
    this.#underWay = this.#carryOver().then(
      () => this.#end(),
      (error: unknown) => {
        this.#error = { error };
        this.#end();
      },
    );
    return false;
  }

  commit(work: () => void): void {
    if (this.#isEmpty && this.#parts.sync === "normal") this.#commitFirst(work);
    else this.#commitNext(work);
  }

  sweep(work: () => void): void {
    const { driver, sync } = this.#parts;
    const transaction = (): void => driver.transaction(work);
    if (this.#isEmpty) this.#commitFirst(transaction);
    else if (sync === "normal") this.#commitNext(transaction);
    // What a power cut brings back is deleted once more: nobody has to wait for the disk.
    else this.#synchronous("NORMAL", () => this.#commitNext(transaction));
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
      this.#synchronous("OFF", () => this.#empty.all());
      this.#isEmpty = await succeeds(log.flush());
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
    this.#hasSwept = false;
  }

  #commitNext(work: () => void): void {
    if (this.#broken !== undefined) throw this.#broken.error;
    this.#commitCount += 1;
    this.#isEmpty = false;
    work();
  }

  /** The log is empty on the disk as well: its header need not be there before the pages behind it. */
  #commitFirst(work: () => void): void {
    const { driver, log, checkpointPages } = this.#parts;
    // Not by itself: it would not wait for the disk either.
    driver.exec("PRAGMA wal_autocheckpoint = 0");
    try {
      this.#synchronous("OFF", () => this.#commitNext(work));
      // A sweep that has found nothing has written nothing.
      this.#isEmpty = log.bytes === 0;
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

  #hasGathered(): boolean {
    // A log that was not emptied has less than its length says.
    if (this.#parts.log.bytes < HEADER_BYTES + GATHERED_PAGES * FRAME_BYTES) return false;
    if (this.#pages === undefined) return true;
    const [row] = this.#pages.all();
    const waiting = Number(row?.["log"]) - Number(row?.["checkpointed"]);
    // Where nothing waits, the next commit begins the log anew, and would wait for the disk.
    return waiting >= GATHERED_PAGES || waiting === 0;
  }
}

function succeeds(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
