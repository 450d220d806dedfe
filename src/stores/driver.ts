/** The little that a store needs of an SQL engine. All of it is synchronous, as SQLite is in every runtime. */

export type SqlValue = string | number | null | Uint8Array;

export type SqlRow = Readonly<Record<string, unknown>>;

export interface SqlStatement {
  run(...values: readonly SqlValue[]): void;
  all(...values: readonly SqlValue[]): readonly SqlRow[];
}

export interface SqlDriver {
  /** Prepares one statement, to be run many times: it is kept until the driver closes. */
  prepare(sql: string): SqlStatement;
  /** Runs a statement that gives no rows, and keeps nothing of it. Some settings of SQLite apply only as a statement is prepared. */
  exec(sql: string): void;
  /** All of what `work` does or, when it throws, nothing of it; the error is passed on. */
  transaction(work: () => void): void;
  /** Lets go of the file. A second time does nothing. */
  close(): void;
}

/** For drivers whose engine has no transaction call of its own. */
export function transactionOver(prepare: (sql: string) => SqlStatement): (work: () => void) => void {
  const begin = prepare("BEGIN IMMEDIATE");
  const commit = prepare("COMMIT");
  const rollback = prepare("ROLLBACK");
  return (work) => {
    begin.run();
    try {
      work();
      commit.run();
    } catch (error) {
      try {
        rollback.run();
      } catch {
        // SQLite has rolled back by itself, as it does when the disk is full: there is no transaction any more.
      }
      throw error;
    }
  };
}
