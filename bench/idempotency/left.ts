/** A store whose log SQLite carries over by itself, in whichever commit has filled it: what is to be beaten. */

import type { Clock, Store } from "../../src/host/ports.ts";
import { GATHERED_PAGES } from "../../src/stores/carry-over.ts";
import type { SqlDriver } from "../../src/stores/driver.ts";
import { SqliteStore } from "../../src/stores/sqlite.ts";

/** Over a database that has our tables. */
export function leftToSqlite(driver: SqlDriver, clock: Clock): Store {
  const pragmas = [
    "locking_mode = EXCLUSIVE",
    "synchronous = NORMAL",
    // As often as we do.
    `wal_autocheckpoint = ${GATHERED_PAGES}`,
  ];
  for (const pragma of pragmas) driver.prepare(`PRAGMA ${pragma}`).all();
  return new SqliteStore(driver, clock, {
    file: {
      held: undefined,
      commit: (work) => work(),
      close: () => driver.close(),
      isReady: () => true,
      sweep: (work) => driver.transaction(work),
      swept() {},
    },
  });
}
