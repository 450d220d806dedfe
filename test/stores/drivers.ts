/** The SQLite of the runtime that runs the tests. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** A fresh folder, removed when the test is over. */
export function temporaryFolder(onEnd: (clean: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), "latchkey-store-"));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
