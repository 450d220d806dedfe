/** The store over SQL: a row for each claim and session, written in place. */

import type { RecordImage } from "../core/idempotency/record.ts";
import type { Change } from "../core/record.ts";
import type { Batch, Clock, Store, StoredSpace } from "../host/ports.ts";
import type { SqlDriver, SqlStatement } from "./driver.ts";
import { StoreError } from "./error.ts";
import { IndexedSweep, type RecordSweep, type SweptFile, WalkingSweep } from "./record-sweep.ts";
import { RecordTable } from "./record-table.ts";
import { readClaim, readSession, writeClaim, writeSession } from "./rows.ts";
import { serialFromClock } from "./serial.ts";

/** Without a rowid a row is one entry of one tree, and a commit writes one page where it would write two. */
export const TABLES: readonly string[] = [
  "CREATE TABLE start (one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL) STRICT",
  "CREATE TABLE space (name TEXT PRIMARY KEY, serial INTEGER NOT NULL) STRICT, WITHOUT ROWID",
  `CREATE TABLE claim (space TEXT NOT NULL, ticket INTEGER NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (space, ticket)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE session (space TEXT NOT NULL, id TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (space, id)) STRICT, WITHOUT ROWID`,
];

const PAGE_BYTES = 4096;

export interface SqliteOptions {
  /** This is no start: the program's memory was lost, and its connections were not. */
  readonly isWake?: boolean;
  /** Counts the start only when somebody asks for its number: whoever never does saves a write. */
  readonly isLazy?: boolean;
  /** The file that it is, whose records are swept by a walk. Absent: they are found by an index, which the database has. */
  readonly file?: StoreFile;
}

/** What a file wants of those who write to it; a space's object wants nothing. */
export interface StoreFile extends SweptFile {
  /** Nobody may write before it resolves, which it always does. Undefined: now. */
  readonly held: Promise<void> | undefined;
  /** `work` is one commit, of about so many pages. Throws, and has done nothing, where the file takes none. */
  commit(work: () => void, pages: number): void;
  /** As `Store.close`. */
  close(): void | Promise<void>;
}

export class SqliteStore implements Store {
  readonly durable = true;
  readonly #options: SqliteOptions;
  #epoch: number | undefined;
  readonly #driver: SqlDriver;
  readonly #clock: Clock;
  readonly #putClaim: SqlStatement;
  readonly #dropClaim: SqlStatement;
  readonly #putSession: SqlStatement;
  readonly #dropSession: SqlStatement;
  readonly #reserve: SqlStatement;
  readonly #claims: SqlStatement;
  readonly #sessions: SqlStatement;
  readonly #serial: SqlStatement;
  readonly #records: RecordTable;
  readonly #sweep: RecordSweep;
  readonly #file: StoreFile | undefined;

  /** Takes over a driver whose database already has the tables. */
  constructor(driver: SqlDriver, clock: Clock, options: SqliteOptions = {}) {
    this.#options = options;
    this.#driver = driver;
    this.#clock = clock;
    this.#putClaim = driver.prepare(
      "INSERT INTO claim VALUES (?, ?, ?) ON CONFLICT (space, ticket) DO UPDATE SET record = excluded.record",
    );
    this.#dropClaim = driver.prepare("DELETE FROM claim WHERE space = ? AND ticket = ?");
    this.#putSession = driver.prepare(
      "INSERT INTO session VALUES (?, ?, ?) ON CONFLICT (space, id) DO UPDATE SET record = excluded.record",
    );
    this.#dropSession = driver.prepare("DELETE FROM session WHERE space = ? AND id = ?");
    this.#reserve = driver.prepare(
      "INSERT INTO space VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET serial = max(serial, excluded.serial)",
    );
    this.#claims = driver.prepare("SELECT ticket, record FROM claim WHERE space = ? ORDER BY ticket");
    this.#sessions = driver.prepare("SELECT id, record FROM session WHERE space = ?");
    this.#serial = driver.prepare("SELECT serial FROM space WHERE name = ?");
    this.#records = new RecordTable(driver, clock);
    const { file } = options;
    this.#file = file;
    this.#sweep = file ? new WalkingSweep(driver, clock, file) : new IndexedSweep(driver, clock);
    if (options.isLazy !== true) this.#epoch = this.#nextEpoch();
  }

  get epoch(): number {
    return (this.#epoch ??= (this.#options.isWake === true ? this.#lastEpoch() : undefined) ?? this.#nextEpoch());
  }

  /** `hasRecords` false: there are no tables for idempotency records yet. */
  load(space: string, hasRecords: boolean = true): StoredSpace {
    const claims = this.#claims
      .all(space)
      .map(({ ticket, record }) =>
        readable(space, `claim ${String(ticket)}`, () => readClaim(ticket, record, this.#clock)),
      );
    const sessions = this.#sessions
      .all(space)
      .map(({ id, record }) => readable(space, `session ${String(id)}`, () => readSession(id, record, this.#clock)));
    const reserved = Number(this.#serial.all(space)[0]?.["serial"] ?? 0);
    const serial = Math.max(reserved, serialFromClock(this.#clock.wall()));
    const records = hasRecords ? this.#records.load(space) : { records: [], waiters: [] };
    return { image: { claims, sessions, ...records }, serial };
  }

  find(space: string, key: string): RecordImage | undefined {
    return this.#records.find(space, key);
  }

  sweep(now: number, countMax: number): number {
    return this.#sweep.sweep(now, countMax);
  }

  commit(space: string, batch: Batch): void | Promise<void> {
    const file = this.#file;
    if (file === undefined) this.commitNow(space, batch);
    else if (file.held === undefined) file.commit(() => this.commitNow(space, batch), pagesOf(batch));
    else return file.held.then(() => this.commit(space, batch));
  }

  /** For a database that is no file of ours: nothing there is to be waited for. */
  commitNow(space: string, batch: Batch): void {
    const reserved = batch.serialReserved;
    // One statement is a transaction by itself, and BEGIN and COMMIT would cost a third more.
    if (batch.changeCount + (reserved === undefined ? 0 : 1) > 1) {
      this.#driver.transaction(() => this.#write(space, batch));
    } else {
      this.#write(space, batch);
    }
  }

  close(): void | Promise<void> {
    return this.#file ? this.#file.close() : this.#driver.close();
  }

  #write(space: string, batch: Batch): void {
    if (batch.serialReserved !== undefined) this.#reserve.run(space, batch.serialReserved);
    for (let i = 0; i < batch.changeCount; i++) this.#writeChange(space, batch.changes[i] as Change);
  }

  #writeChange(space: string, change: Change): void {
    switch (change.kind) {
      case "claim":
        this.#putClaim.run(space, change.claim.ticket, writeClaim(change.claim, this.#clock));
        return;
      case "claim_forgotten":
        this.#dropClaim.run(space, change.ticket);
        return;
      case "session":
        this.#putSession.run(space, change.session.id, writeSession(change.session, this.#clock));
        return;
      case "session_gone":
        this.#dropSession.run(space, change.session);
        return;
      default:
        this.#records.write(space, change);
    }
  }

  #lastEpoch(): number | undefined {
    const last = this.#driver.prepare("SELECT epoch FROM start").all()[0]?.["epoch"];
    return last === undefined ? undefined : Number(last);
  }

  #nextEpoch(): number {
    const next = this.#driver.prepare(
      "INSERT INTO start VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET epoch = max(epoch + 1, excluded.epoch) RETURNING epoch",
    );
    return Number(next.all(Math.floor(this.#clock.wall()))[0]?.["epoch"]);
  }
}

/** One a change, and those that a result takes by itself. */
function pagesOf({ changes, changeCount }: Batch): number {
  let pages = changeCount;
  for (let i = 0; i < changeCount; i++) {
    const change = changes[i];
    if (change?.kind === "record") pages += (change.record.result?.length ?? 0) / PAGE_BYTES;
  }
  return pages;
}

function readable<T>(space: string, what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StoreError("damaged", `the store is damaged: ${what} of space ${space} cannot be read`, { cause: error });
  }
}
