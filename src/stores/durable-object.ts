/** The SQLite of a Durable Object. Writes of one turn leave together, and nothing is sent before they are durable. */

import type { RecordImage } from "../core/idempotency/record.ts";
import type { Batch, Clock, Store, StoredSpace } from "../host/ports.ts";
import type { SqlDriver, SqlRow, SqlValue } from "./driver.ts";
import { EXPIRY_INDEX } from "./record-sweep.ts";
import { RECORD_TABLES } from "./record-table.ts";
import { serialFromClock } from "./serial.ts";
import { SqliteStore, TABLES } from "./sqlite.ts";

/** What is used of `ctx.storage`. */
export interface ObjectStorage {
  readonly sql: { exec(query: string, ...bindings: SqlValue[]): { toArray(): SqlRow[] } };
  transactionSync<T>(work: () => T): T;
}

export interface ObjectStoreOptions {
  readonly clock: Clock;
  /** The object's memory was lost, and its sockets were not. */
  readonly isWake: boolean;
}

/**
 * Makes its tables with the first write, those of records with the first record: whoever only asks about an object that was never used writes nothing, and a row
 * written costs a thousand times what a row read costs.
 */
export class ObjectStore implements Store {
  readonly durable = true;
  readonly #driver: SqlDriver;
  readonly #clock: Clock;
  readonly #store: SqliteStore;
  #hasTables: boolean;
  #hasRecordTables: boolean;

  constructor(storage: ObjectStorage, { clock, isWake }: ObjectStoreOptions) {
    this.#driver = objectDriver(storage);
    this.#clock = clock;
    this.#store = new SqliteStore(this.#driver, clock, { isWake, isLazy: true });
    this.#hasTables = this.#hasTable("claim");
    this.#hasRecordTables = this.#hasTable("record");
  }

  get epoch(): number {
    this.#makeTables();
    return this.#store.epoch;
  }

  load(space: string): StoredSpace {
    if (this.#hasTables) return this.#store.load(space, this.#hasRecordTables);
    const image = { claims: [], sessions: [], records: [], waiters: [] };
    return { image, serial: serialFromClock(this.#clock.wall()) };
  }

  commit(space: string, batch: Batch): void {
    this.#makeTables();
    if (!this.#hasRecordTables && hasRecords(batch)) this.#makeRecordTables();
    this.#store.commitNow(space, batch);
  }

  find(space: string, key: string): RecordImage | undefined {
    return this.#hasRecordTables ? this.#store.find(space, key) : undefined;
  }

  sweep(now: number, countMax: number): number {
    return this.#hasRecordTables ? this.#store.sweep(now, countMax) : Number.POSITIVE_INFINITY;
  }

  close(): void {}

  #makeTables(): void {
    if (this.#hasTables) return;
    this.#make(TABLES);
    this.#hasTables = true;
  }

  #makeRecordTables(): void {
    this.#make([...RECORD_TABLES, EXPIRY_INDEX]);
    this.#hasRecordTables = true;
  }

  #make(tables: readonly string[]): void {
    this.#driver.transaction(() => {
      for (const table of tables) this.#driver.prepare(table).run();
    });
  }

  #hasTable(name: string): boolean {
    const tables = this.#driver.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?");
    return tables.all(name).length > 0;
  }
}

function hasRecords({ changes, changeCount }: Batch): boolean {
  for (let i = 0; i < changeCount; i++) if (changes[i]?.kind === "record") return true;
  return false;
}

/** A Durable Object prepares a statement when it runs, keeps it by its text, and knows no BEGIN. */
function objectDriver(storage: ObjectStorage): SqlDriver {
  return {
    prepare: (query) => ({
      run: (...values) => void storage.sql.exec(query, ...values).toArray(),
      all: (...values) => storage.sql.exec(query, ...values).toArray(),
    }),
    exec: (query) => void storage.sql.exec(query).toArray(),
    transaction: (work) => storage.transactionSync(work),
    close() {},
  };
}
