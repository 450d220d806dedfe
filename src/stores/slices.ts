/**
 * Carries the log over a slice at a time, while commits go on. A second connection holds its view of the file where the log ended when
 * another thread began to flush it, and SQLite carries over what lies before a view, and no more. So there is always something in the
 * log that the file lacks, SQLite never begins it anew, and nobody waits: what a power cut takes from the file is in the log.
 */

import type { SqlDriver, SqlStatement } from "./driver.ts";
import type { FlushedFile } from "./flushed-file.ts";

export interface SliceParts {
  /** Another connection to the same file. It writes nothing. */
  readonly viewer: SqlDriver;
  readonly log: FlushedFile;
  /** Has SQLite carry over what lies before the view: all of it is on the disk, or SQLite waits until it is. */
  readonly carry: (isFlushed: boolean) => void;
  /** A flush is over, and `advance` has something to do as soon as there is a commit behind the view. */
  readonly onFlushed: () => void;
}

/** Of the log. */
export interface LogPages {
  readonly all: number;
  /** Those that the file lacks. */
  readonly waiting: number;
}

/** A slice has so many pages, and what one commit has brought at once: they are written in 1 ms. */
export const SLICE_PAGES = 256;

/** Whether SQLite can be asked for that: before 3.51 it would carry over instead. */
export function tellsPages(driver: SqlDriver): boolean {
  const [version] = driver.prepare("SELECT sqlite_version() AS version").all();
  const [major = 0, minor = 0] = String(version?.["version"]).split(".").map(Number);
  return major > 3 || minor >= 51;
}

export class Slices {
  readonly #parts: SliceParts;
  readonly #begin: SqlStatement;
  readonly #look: SqlStatement;
  readonly #end: SqlStatement;
  /** Where the log ended when the view was taken. */
  #viewedAt: number | undefined;
  #flushing: Promise<void> | undefined;
  #isFlushed = false;

  constructor(parts: SliceParts) {
    const { viewer } = parts;
    this.#parts = parts;
    this.#begin = viewer.prepare("BEGIN");
    this.#look = viewer.prepare("SELECT 1 FROM sqlite_schema LIMIT 1");
    this.#end = viewer.prepare("COMMIT");
  }

  /** Resolves when no flush is under way, and never rejects. */
  get flushing(): Promise<void> | undefined {
    return this.#flushing;
  }

  /** Begins a slice, or ends it. Returns whether something was written to the file. */
  advance({ all, waiting }: LogPages): boolean {
    if (this.#flushing !== undefined) return false;
    if (this.#viewedAt === undefined) {
      if (waiting >= SLICE_PAGES) this.#view(all);
      return false;
    }
    // Nothing is behind the view: SQLite would carry over all of the log, and begin it anew with the next commit.
    if (all === this.#viewedAt) return false;
    try {
      this.#parts.carry(this.#isFlushed);
    } finally {
      this.#leave();
    }
    return true;
  }

  /** All of the log can be carried over when it resolves. */
  async rest(): Promise<void> {
    await this.#flushing;
    if (this.#viewedAt !== undefined) this.#leave();
  }

  /** Not while a flush is under way. */
  close(): void {
    this.#parts.viewer.close();
  }

  #view(all: number): void {
    this.#begin.run();
    this.#look.all();
    this.#viewedAt = all;
    const over = (isFlushed: boolean): void => {
      this.#isFlushed = isFlushed;
      this.#flushing = undefined;
      this.#parts.onFlushed();
    };
    this.#flushing = this.#parts.log.flush().then(
      () => over(true),
      () => over(false),
    );
  }

  #leave(): void {
    this.#end.run();
    this.#viewedAt = undefined;
  }
}
