/** The SQLite of Bun. */

import { constants, Database } from "bun:sqlite";
import { type SqlDriver, type SqlStatement, type SqlValue, transactionOver } from "./driver.ts";
import { type FileOptions, openFile } from "./file.ts";
import type { SqliteStore } from "./sqlite.ts";

export function openSqlite(path: string, options: FileOptions): SqliteStore {
  return openFile(path, options, bunDriver);
}

const { SQLITE_OPEN_READWRITE, SQLITE_OPEN_CREATE, SQLITE_OPEN_URI } = constants;

/** Takes a URL of SQLite's as well, as Node's does. */
export function bunDriver(path: string): SqlDriver {
  const database = new Database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI);
  const finalizers: (() => void)[] = [];
  const prepare = (sql: string): SqlStatement => {
    const statement = database.prepare<Record<string, unknown>, SqlValue[]>(sql);
    finalizers.push(() => statement.finalize());
    return {
      run: (...values) => void statement.run(...values),
      all: (...values) => statement.all(...values),
    };
  };
  // Bun 1.4 leaves the file open, and locked, for as long as one statement of a closed database is not finalized.
  const close = (): void => {
    for (const finalize of finalizers) finalize();
    database.close(true);
  };
  return { prepare, exec: (sql) => void database.run(sql), transaction: transactionOver(prepare), close };
}
