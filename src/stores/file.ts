/** One SQLite file, opened for one server: prepared for fast commits, and refused when it is not ours to write. */

import { closeSync, openSync, realpathSync } from "node:fs";
import type { Clock } from "../host/ports.ts";
import { CarryOver } from "./carry-over.ts";
import type { SqlDriver } from "./driver.ts";
import { StoreError } from "./error.ts";
import { type FlushedFile, flushedFile } from "./flushed-file.ts";
import { RECORD_TABLES } from "./record-table.ts";
import { tellsPages } from "./slices.ts";
import { SqliteStore, TABLES } from "./sqlite.ts";
import { type Connect, openViewed } from "./viewed.ts";

export interface FileOptions {
  readonly clock: Clock;
  /** `normal` survives the end of the process, `full` also a power cut. */
  readonly sync?: "normal" | "full";
  /** How long to wait for a server that is just about to let go of the file. */
  readonly waitMs?: number;
}

const WAIT_DEFAULT_MS = 500;
/**
 * Where there is one connection alone, SQLite carries the log over into the file after so many pages of 4 KiB: 30 ms and more, and a
 * wait for the disk, while the server stands still. With SQLite's own 1000 a commit costs twice as much on average.
 */
const CHECKPOINT_PAGES = 8000;
/** "LTCH", where SQLite files say whose they are. */
const APPLICATION_ID = 0x4c544348;
const SCHEMA_VERSION = 2;
/** What each version brought; a file of an older one gets what it lacks. */
const TABLES_OF: readonly (readonly string[])[] = [TABLES, RECORD_TABLES];

export function openFile(path: string, options: FileOptions, connect: Connect): SqliteStore {
  let driver: SqlDriver | undefined;
  let viewer: SqlDriver | undefined;
  const files: FlushedFile[] = [];
  const flushed = (name: string): FlushedFile => {
    const file = flushedFile(name);
    files.push(file);
    return file;
  };
  try {
    makePrivate(path);
    driver = connect(path);
    prepareFile(path, driver, options);
    // SQLite keeps the log beside the file itself, wherever the path leads, and also when the process goes to another folder.
    const real = realpathSync(path);
    const viewed = tellsPages(driver) ? openViewed(real, connect) : undefined;
    if (viewed !== undefined) {
      // This takes into the file what an earlier start has left in the log, before anybody is served.
      driver.close();
      ({ driver, viewer } = viewed);
      configure(driver, options, 0);
      // Also makes the log.
      driver.prepare("PRAGMA user_version").all();
    }
    const file = new CarryOver({
      driver,
      viewer,
      sync: options.sync ?? "normal",
      log: flushed(`${real}-wal`),
      file: flushed(real),
      checkpointPages: viewer === undefined ? CHECKPOINT_PAGES : 0,
    });
    return new SqliteStore(driver, options.clock, { file });
  } catch (error) {
    viewer?.close();
    driver?.close();
    for (const file of files) file.close();
    throw explain(path, error);
  }
}

/** Whoever can read the file can release and extend every lock in it. SQLite gives its other files the same mode. */
function makePrivate(path: string): void {
  try {
    // Only a new one: to close another would let go of the lock that a store of this process may have on it.
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function configure(
  driver: SqlDriver,
  { sync = "normal", waitMs = WAIT_DEFAULT_MS }: FileOptions,
  checkpointPages: number,
): void {
  const settings = [
    `busy_timeout = ${waitMs}`,
    `synchronous = ${sync === "full" ? "FULL" : "NORMAL"}`,
    `wal_autocheckpoint = ${checkpointPages}`,
  ];
  for (const setting of settings) driver.prepare(`PRAGMA ${setting}`).all();
}

function prepareFile(path: string, driver: SqlDriver, options: FileOptions): void {
  const pragma = (text: string): unknown => Object.values(driver.prepare(`PRAGMA ${text}`).all()[0] ?? {})[0];
  configure(driver, options, CHECKPOINT_PAGES);
  // Exclusive: the lock on the file is kept from the first write on until the process ends, however it ends. A second
  // server is refused, and commits save the calls that take and leave locks.
  pragma("locking_mode = EXCLUSIVE");
  refuseForeign(path, pragma, driver.prepare("SELECT name FROM sqlite_schema").all().length === 0);
  pragma("journal_mode = WAL");
  driver.transaction(() => {
    const version = Number(pragma("user_version"));
    if (version === SCHEMA_VERSION) return;
    for (const table of TABLES_OF.slice(version).flat()) driver.prepare(table).run();
    pragma(`application_id = ${APPLICATION_ID}`);
    pragma(`user_version = ${SCHEMA_VERSION}`);
  });
}

function refuseForeign(path: string, pragma: (text: string) => unknown, isEmpty: boolean): void {
  const application = pragma("application_id");
  const version = pragma("user_version");
  // Also a file that a server was killed over before it had made the tables.
  if (application === 0 && version === 0 && isEmpty) return;
  if (application !== APPLICATION_ID) {
    throw new StoreError("foreign", `${path} is not a Latchkey database`);
  }
  if (!(Number(version) >= 1 && Number(version) <= SCHEMA_VERSION)) {
    throw new StoreError(
      "foreign",
      `${path} has schema version ${String(version)}, this Latchkey knows up to ${SCHEMA_VERSION}: it was written by another release`,
    );
  }
}

/** SQLite's own words, where the runtimes agree on them, as one line that says what to do. */
function explain(path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/database is locked|SQLITE_BUSY/.test(message)) {
    return new StoreError("in_use", `${path} is in use by another server: a database has one server at a time`, {
      cause: error,
    });
  }
  if (/not a database|malformed/.test(message)) {
    return new StoreError("damaged", `${path} is damaged or not a database`, { cause: error });
  }
  return new StoreError("unavailable", `${path} cannot be opened: ${message}`, { cause: error });
}
