/** Idempotency records over SQL: a row for each, found by its key. */

import type { IdempotencyChange, IdempotencyImage, RecordImage, WaiterImage } from "../core/idempotency/record.ts";
import type { Clock } from "../host/ports.ts";
import type { SqlDriver, SqlStatement } from "./driver.ts";
import { StoreError } from "./error.ts";
import { readRecord, readWaiter, writeRecord, writeWaiter } from "./record-rows.ts";
import { check, toWall } from "./rows.ts";

/**
 * `expires` is wall time, and null while an attempt runs. Keys are written as JSON, which keeps different ones different also
 * where they are not well-formed.
 */
export const RECORD_TABLES: readonly string[] = [
  `CREATE TABLE record (space TEXT NOT NULL, key TEXT NOT NULL, expires INTEGER, record TEXT NOT NULL, result BLOB,
    PRIMARY KEY (space, key)) STRICT, WITHOUT ROWID`,
  "CREATE INDEX record_running ON record (space) WHERE expires IS NULL",
  `CREATE TABLE waiter (space TEXT NOT NULL, number INTEGER NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (space, number)) STRICT, WITHOUT ROWID`,
];

export class RecordTable {
  readonly #clock: Clock;
  readonly #put: SqlStatement;
  readonly #drop: SqlStatement;
  readonly #find: SqlStatement;
  readonly #running: SqlStatement;
  readonly #putWaiter: SqlStatement;
  readonly #dropWaiter: SqlStatement;
  readonly #waiters: SqlStatement;

  constructor(driver: SqlDriver, clock: Clock) {
    this.#clock = clock;
    this.#put = driver.prepare(
      `INSERT INTO record VALUES (?, ?, ?, ?, ?) ON CONFLICT (space, key)
        DO UPDATE SET expires = excluded.expires, record = excluded.record, result = excluded.result`,
    );
    this.#drop = driver.prepare("DELETE FROM record WHERE space = ? AND key = ?");
    this.#find = driver.prepare("SELECT expires, record, result FROM record WHERE space = ? AND key = ?");
    this.#running = driver.prepare("SELECT key, record FROM record WHERE space = ? AND expires IS NULL");
    this.#putWaiter = driver.prepare(
      "INSERT INTO waiter VALUES (?, ?, ?) ON CONFLICT (space, number) DO UPDATE SET record = excluded.record",
    );
    this.#dropWaiter = driver.prepare("DELETE FROM waiter WHERE space = ? AND number = ?");
    this.#waiters = driver.prepare("SELECT number, record FROM waiter WHERE space = ?");
  }

  /** Throws a `StoreError` when there is a row that cannot be read. */
  find(space: string, key: string): RecordImage | undefined {
    const [row] = this.#find.all(space, JSON.stringify(key));
    if (row === undefined) return undefined;
    try {
      const record = readRecord(key, row["record"], bytesOf(row["result"]), this.#clock);
      // One that runs is loaded with its space, by the same mark.
      check((record.state === "running") === (row["expires"] === null));
      return record;
    } catch (cause) {
      throw new StoreError("damaged", `the store is damaged: a record of space ${space} cannot be read`, { cause });
    }
  }

  /** What cannot be read is left out: whoever asks for its key learns it by `find`, and nobody else is concerned. */
  load(space: string): IdempotencyImage {
    const records = this.#running.all(space).flatMap(({ key, record }): RecordImage[] => {
      try {
        return [readRecord(JSON.parse(String(key)) as string, record, undefined, this.#clock)];
      } catch {
        return [];
      }
    });
    const waiters = this.#waiters.all(space).flatMap(({ number, record }): WaiterImage[] => {
      try {
        return [readWaiter(number, record, this.#clock)];
      } catch {
        return [];
      }
    });
    return { records, waiters };
  }

  write(space: string, change: IdempotencyChange): void {
    switch (change.kind) {
      case "record": {
        const { key, expiresAt, result = null } = change.record;
        const text = writeRecord(change.record, this.#clock);
        const expires = toWall(expiresAt, this.#clock);
        this.#put.run(space, JSON.stringify(key), expires === null ? null : Math.ceil(expires), text, result);
        return;
      }
      case "record_gone":
        this.#drop.run(space, JSON.stringify(change.key));
        return;
      case "waiter":
        this.#putWaiter.run(space, change.waiter.order, writeWaiter(change.waiter, this.#clock));
        return;
      case "waiter_gone":
        this.#dropWaiter.run(space, change.order);
        return;
    }
  }
}

/** The engines differ: some give an `ArrayBuffer`. */
function bytesOf(value: unknown): Uint8Array | undefined {
  if (value === null || value === undefined) return undefined;
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new StoreError("damaged", "the result is no bytes");
}
