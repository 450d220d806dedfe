/**
 * Two connections to one file, which is closed to all other processes, and costs no more calls than with a lock of one connection's:
 * SQLite has a mode for that, on all systems but Windows.
 */

import { statSync } from "node:fs";
import type { SqlDriver } from "./driver.ts";

/** To a path, or a URL of SQLite's (https://sqlite.org/uri.html). */
export type Connect = (name: string) => SqlDriver;

export interface Viewed {
  /** Has the file to itself from its first read on. To close it closes what else there is, but for the viewer. */
  readonly driver: SqlDriver;
  readonly viewer: SqlDriver;
}

/**
 * For whoever has the file to itself until now, and lets go of it before the first read of these. Undefined: not here. Throws where
 * another store of this process is at it.
 */
export function openViewed(real: string, connect: Connect): Viewed | undefined {
  const opened: SqlDriver[] = [];
  const open = (name: string): SqlDriver => {
    const driver = connect(name);
    opened.push(driver);
    return driver;
  };
  const closeAll = (): void => {
    for (const driver of opened) driver.close();
  };
  let viewed: Viewed;
  try {
    const guard = open(guardOf(real));
    const url = `file://${real.split("/").map(encodeURIComponent).join("/")}?vfs=unix-excl`;
    const driver = open(url);
    const close = (): void => {
      driver.close();
      guard.close();
    };
    viewed = { driver: { ...driver, close }, viewer: open(url) };
  } catch {
    closeAll();
    return undefined;
  }
  try {
    opened[0]?.prepare("BEGIN EXCLUSIVE").run();
  } catch (error) {
    closeAll();
    throw error;
  }
  return viewed;
}

/**
 * A database in memory, which the threads of a process share by its name. Whoever has locked it has the file: that lock is for
 * processes, and to this one both are the same.
 */
export function guardOf(real: string): string {
  const { dev, ino } = statSync(real, { bigint: true });
  return `file:/latchkey-${dev}-${ino}?vfs=memdb`;
}
