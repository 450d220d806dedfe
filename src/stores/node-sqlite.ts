/** The SQLite of Node, which Deno has too. */

import type { DatabaseSync } from "node:sqlite";
import { type SqlDriver, type SqlStatement, transactionOver } from "./driver.ts";
import { type FileOptions, openFile } from "./file.ts";
import type { SqliteStore } from "./sqlite.ts";

export function openSqlite(path: string, options: FileOptions): SqliteStore {
  return openFile(path, options, nodeDriver);
}

/** A path, or a URL of SQLite's. */
export function nodeDriver(path: string): SqlDriver {
  // Not imported: Node 22 prints a warning as soon as the module is loaded, also for those who keep nothing.
  const { DatabaseSync: Database } = process.getBuiltinModule("node:sqlite");
  if (path.startsWith("file:")) refuseUnpermitted(path);
  const database: DatabaseSync = new Database(path);
  const prepare = (sql: string): SqlStatement => {
    const statement = database.prepare(sql);
    return {
      run: (...values) => void statement.run(...values),
      all: (...values) => statement.all(...values),
    };
  };
  const close = (): void => {
    if (database.isOpen) database.close();
  };
  return { prepare, exec: (sql) => database.exec(sql), transaction: transactionOver(prepare), close };
}

interface Permissions {
  querySync(about: { readonly name: "read" | "write"; readonly path: string }): { readonly state: string };
}

/** Deno takes the URL for a path, and where it is not permitted it would ask whoever sits at the terminal. */
function refuseUnpermitted(path: string): void {
  const { permissions } = (globalThis as { readonly Deno?: { readonly permissions: Permissions } }).Deno ?? {};
  for (const name of ["read", "write"] as const) {
    if ((permissions?.querySync({ name, path }).state ?? "granted") !== "granted") throw new Error(`no ${name} access`);
  }
}
