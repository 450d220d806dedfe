/** The storage of a Durable Object as far as a store uses it, over Node's SQLite. */

import { DatabaseSync } from "node:sqlite";
import type { ObjectStorage } from "../../src/stores/durable-object.ts";

export function nodeStorage(): ObjectStorage {
  const database = new DatabaseSync(":memory:");
  return {
    sql: {
      exec(query, ...values) {
        const rows = database.prepare(query).all(...values);
        return { toArray: () => rows };
      },
    },
    transactionSync(work) {
      database.exec("BEGIN");
      try {
        const result = work();
        database.exec("COMMIT");
        return result;
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
  };
}
