/** The SQLite of the runtime that runs the tests. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Batch } from "../../src/host/ports.ts";
import type { SqlDriver } from "../../src/stores/driver.ts";
import type { FileOptions } from "../../src/stores/file.ts";
import type { SqliteStore } from "../../src/stores/sqlite.ts";

export interface DriverUnderTest {
  readonly name: string;
  open(path: string, options: FileOptions): SqliteStore;
  connect(path: string): SqlDriver;
}

export async function driverOfRuntime(): Promise<DriverUnderTest> {
  if ("Bun" in globalThis) {
    const { openSqlite, bunDriver } = await import("../../src/stores/bun-sqlite.ts");
    return { name: "bun:sqlite", open: openSqlite, connect: bunDriver };
  }
  const { openSqlite, nodeDriver } = await import("../../src/stores/node-sqlite.ts");
  return { name: "node:sqlite", open: openSqlite, connect: nodeDriver };
}

/** A store whose file is not swept: nothing in it waits for anything. */
export type CalmStore = Pick<SqliteStore, "load" | "epoch"> & {
  commit(space: string, batch: Batch): void;
  close(): void;
};

export function calm(store: SqliteStore): CalmStore {
  const atOnce = (done: void | Promise<void>): void => {
    if (done instanceof Promise) throw new Error("it had to wait");
  };
  return {
    get epoch() {
      return store.epoch;
    },
    load: (space) => store.load(space),
    commit: (space, batch) => atOnce(store.commit(space, batch)),
    close: () => atOnce(store.close()),
  };
}

/** A fresh folder, removed when the test is over. */
export function temporaryFolder(onEnd: (clean: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), "latchkey-store-"));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
