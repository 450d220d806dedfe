/**
 * Takes what was written out of the log and into the file. SQLite would wait for the disk three times with each carrying over: for
 * the log before it, for the file after it, and for the log's new header with the next commit. Here another thread waits, in the same
 * order, and SQLite is told not to (`synchronous = OFF`) only where nothing is left to wait for:
 *
 * 1. All of the log is flushed. If commits came meanwhile, once more, and from here on they wait for the end.
 * 2. What it holds is written to the file. A power cut finds all of it in the log, and carries it over again.
 * 3. The file is flushed. Until that is done the log must not be begun anew, which the next commit would do.
 * 4. The log's header is made void, and that is flushed. Else a power cut could find it before the new pages behind it, and carry
 *    over the old ones up to them. The commit after that writes a new header, with nothing before it that it must not meet.
 *    (To cut the log off, as `wal_checkpoint(TRUNCATE)` does, is the same to SQLite, and takes 5 to 30 ms where a file system tells
 *    the disk of the blocks that it frees.)
 *
 * Where the file can be viewed by a second connection, that is how the log is begun anew when it is long, and until then it is carried
 * over in slices, which keep nobody waiting: so however much was written, only so many pages are left to be carried over at once.
 * Elsewhere sweeps have it done whenever enough pages have gathered, and what others write is left to SQLite.
 *
 * What fails on the way is left to SQLite, which then waits for the disk itself.
 */

import type { SqlDriver, SqlStatement } from "./driver.ts";
import type { FlushedFile } from "./flushed-file.ts";
import { type LogPages, Slices, tellsPages } from "./slices.ts";
import type { StoreFile } from "./sqlite.ts";

export interface CarryOverParts {
  readonly driver: SqlDriver;
  /** A second connection to the same file, with an SQLite that tells pages. Undefined: there can be none. */
  readonly viewer?: SqlDriver | undefined;
  readonly sync: "normal" | "full";
  readonly log: FlushedFile;
  readonly file: FlushedFile;
  /** As many pages in the log make SQLite carry them over itself; 0: none do. */
  readonly checkpointPages: number;
}

/** Carried over when the log has so many pages: written in 1 ms. With more of them a commit waits more seldom. */
export const GATHERED_PAGES = 256;
/** Of the log's header (https://sqlite.org/fileformat2.html#the_wal_file_format). */
const HEADER_BYTES = 32;
/** With a viewer the log is begun anew when it has so many pages: 32 MB. */
export const LOG_PAGES = 8000;
/** SQLite is asked for the log's length when about so many pages may have been written since. */
export const ASKED_PAGES = 32;
/** With more than so many that the file lacks, commits wait for the disk: else they would be too many for one slice. */
export const WAITING_PAGES_MAX = 768;
/** Where SQLite cannot tell how many pages wait: so many sweeps have written about as many. */
export const GATHERED_SWEEPS = 14;

export class CarryOver implements StoreFile {
  readonly #parts: CarryOverParts;
  /** Undefined: this SQLite (before 3.51) cannot tell. */
  readonly #pages: SqlStatement | undefined;
  readonly #carry: SqlStatement;
  readonly #slices: Slices | undefined;
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
  /** Written since SQLite was asked, about; and what it then said. */
  #writtenPages = 0;
  #waitingPages = 0;
  /** No slices any more until the log is begun anew. */
  #isEnding = false;
  /** What the next sweep is to be told. */
  #failed: { readonly error: unknown } | undefined;
  /** The file is not on the disk and cannot be brought there; all that it lacks is in the log. */
  #broken: { readonly error: unknown } | undefined;

  constructor(parts: CarryOverParts) {
    const { driver } = parts;
    this.#parts = parts;
    if (tellsPages(driver)) this.#pages = driver.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#carry = driver.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    const { viewer, log } = parts;
    if (viewer === undefined) return;
    this.#slices = new Slices({
      viewer,
      log,
      carry: (isFlushed) => void this.#carryAll(isFlushed),
      onFlushed: () => this.#advanceSafely(),
    });
  }

  get held(): Promise<void> | undefined {
    if (this.#held !== undefined || this.#waitingPages < WAITING_PAGES_MAX) return this.#held;
    return this.#isEnding ? this.#underWay : this.#slices?.flushing;
  }

  swept(): void {
    this.#hasSwept = true;
  }

  isReady(): boolean {
    const failed = this.#broken ?? this.#failed;
    this.#failed = undefined;
    if (failed !== undefined) throw failed.error;
    if (this.#slices !== undefined) return this.#isReadyFor(this.#slices);
    if (this.#underWay !== undefined) return false;
    if (!this.#isDue()) return true;
    this.#start(this.#carryOver());
    return false;
  }

  commit(work: () => void, pages: number): void {
    if (this.#isVoid && this.#parts.sync === "normal") this.#commitFirst(work);
    else this.#commitNext(work);
    this.#writtenPages += pages;
    if (this.#writtenPages >= ASKED_PAGES) this.#advanceSafely();
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
    const busy = this.#underWay ?? this.#slices?.flushing;
    if (busy !== undefined) return busy.then(() => this.close());
    const { driver, log, file } = this.#parts;
    // First, so that SQLite finds itself alone.
    this.#slices?.close();
    // SQLite removes a log that it has carried over, and does not know that this came to nothing.
    if (this.#broken === undefined) driver.close();
    else log.keep(() => driver.close());
    file.close();
    log.close();
  }

  #isReadyFor(slices: Slices): boolean {
    if (this.#isEnding || this.#advance()) return false;
    // A file system may keep a write to the log waiting while it flushes the log, and a sweep has time.
    return slices.flushing === undefined;
  }

  /** Whatever comes of it is no matter of the commit that was made. */
  #advanceSafely(): void {
    try {
      this.#advance();
    } catch (error) {
      this.#failed = { error };
    }
  }

  /** Returns whether that took a while. */
  #advance(): boolean {
    if (this.#slices === undefined || this.#broken !== undefined) return false;
    const pages = this.#ask();
    if (this.#isEnding || !this.#slices.advance(pages)) return false;
    // What has come meanwhile is perhaps as much already.
    this.#slices.advance(this.#ask());
    if (pages.all >= LOG_PAGES && this.#underWay === undefined) this.#start(this.#beginAnew(this.#slices));
    return true;
  }

  #ask(): LogPages {
    const [row] = this.#pages?.all() ?? [];
    const all = Number(row?.["log"]);
    this.#writtenPages = 0;
    this.#waitingPages = all - Number(row?.["checkpointed"]);
    return { all, waiting: this.#waitingPages };
  }

  #start(work: Promise<void>): void {
    this.#underWay = work.then(
      () => this.#end(),
      (error: unknown) => {
        this.#failed = { error };
        this.#end();
      },
    );
  }

  /** What the slices have written is flushed before commits wait, so that they wait for little. */
  async #beginAnew(slices: Slices): Promise<void> {
    await this.#flushFile(this.#parts.file);
    this.#isEnding = true;
    await slices.rest();
    await this.#carryOver();
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
    this.#isEnding = false;
    this.#waitingPages = 0;
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
    const { waiting } = this.#ask();
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
