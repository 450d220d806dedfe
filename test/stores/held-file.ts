/** A file and an SQLite that say what is asked of them, and wait until the test says so. */

import { expect, vi } from "vitest";
import type { SqlDriver } from "../../src/stores/driver.ts";
import { type FlushedFile, flushedFile } from "../../src/stores/flushed-file.ts";

const MODES = ["OFF", "NORMAL", "FULL"];

/** A file whose flushes end when the test says so. */
export class HeldFile implements FlushedFile {
  readonly #file: FlushedFile;
  readonly #flushes: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  #isHeld = true;
  begun = 0;

  constructor(path: string) {
    this.#file = flushedFile(path);
  }

  blank(bytes: number): Promise<void> {
    return this.#file.blank(bytes);
  }

  flush(): Promise<void> {
    this.begun += 1;
    if (!this.#isHeld) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#flushes.push({ resolve, reject });
    });
  }

  /** The next flush ends, and what waits for it goes on. */
  async end(error?: Error): Promise<void> {
    await vi.waitUntil(() => this.#flushes.length > 0, { interval: 1 });
    const flush = this.#flushes.shift();
    if (error) flush?.reject(error);
    else flush?.resolve();
    await new Promise(setImmediate);
  }

  endAll(): void {
    this.#isHeld = false;
    for (const { resolve } of this.#flushes) resolve();
  }

  keep(work: () => void): void {
    this.#file.keep(work);
  }

  close(): void {
    this.#file.close();
  }
}

/** Tells what was done under which setting. */
export function listened(inner: SqlDriver, told: string[], version: string | undefined): SqlDriver {
  const setting = (name: string): number => Number(Object.values(inner.prepare(`PRAGMA ${name}`).all()[0] ?? {})[0]);
  return {
    ...inner,
    prepare(sql) {
      const statement = inner.prepare(sql);
      const name = /PASSIVE|TRUNCATE|INSERT|DELETE/.exec(sql)?.[0];
      const tell = (): void => {
        if (name !== undefined) told.push(`${name} ${MODES[setting("synchronous")]}`);
        // A checkpoint that came by itself would not be waited for either.
        if (MODES[setting("synchronous")] === "OFF" && name === "INSERT") expect(setting("wal_autocheckpoint")).toBe(0);
      };
      return {
        all(...values) {
          if (/sqlite_version/.test(sql) && version !== undefined) return [{ version }];
          tell();
          return statement.all(...values);
        },
        run(...values) {
          tell();
          statement.run(...values);
        },
      };
    },
  };
}
