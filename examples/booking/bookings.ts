/** Rooms, bookings and charges in SQLite, the same on Bun, Deno and Node. */

export interface Asked {
  readonly guest: string;
  readonly space: string;
  /** Days as `2031-05-01`; the last one is no longer booked. */
  readonly start: string;
  readonly end: string;
}

export interface Booking extends Asked {
  readonly id: string;
}

interface Sqlite {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: string[]): unknown; get(...values: string[]): unknown };
}

const TABLES = `
  PRAGMA journal_mode = WAL;
  PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS booking (
    id TEXT PRIMARY KEY, request TEXT NOT NULL UNIQUE, guest TEXT NOT NULL, space TEXT NOT NULL, start TEXT NOT NULL, "end" TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS charge (id INTEGER PRIMARY KEY, request TEXT NOT NULL, guest TEXT NOT NULL) STRICT;
`;

export class Bookings {
  readonly #sqlite: Sqlite;

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite;
    sqlite.exec(TABLES);
  }

  static async open(path: string): Promise<Bookings> {
    if ("Bun" in globalThis) {
      const { Database } = await import("bun:sqlite");
      return new Bookings(new Database(path));
    }
    const { DatabaseSync } = await import("node:sqlite");
    return new Bookings(new DatabaseSync(path));
  }

  /** What this request has booked, if an earlier attempt at it came that far. */
  of(request: string): Booking | undefined {
    const row = this.#sqlite
      .prepare(`SELECT id, guest, space, start, "end" FROM booking WHERE request = ?`)
      .get(request);
    return (row ?? undefined) as Booking | undefined;
  }

  isFree({ space, start, end }: Asked): boolean {
    const overlaps = this.#sqlite.prepare(`SELECT 1 FROM booking WHERE space = ? AND start < ? AND "end" > ?`);
    return (overlaps.get(space, end, start) ?? undefined) === undefined;
  }

  /**
   * Charges and books, or neither: undefined when the days are taken. One transaction, which looks at all of it again: another range
   * that overlaps this one is another lock, and an earlier attempt that was believed dead may have booked meanwhile. A payment
   * provider is outside of any transaction: give it the request's key, and it charges once.
   */
  chargeAndBook(request: string, asked: Asked): Booking | undefined {
    const { guest, space, start, end } = asked;
    this.#sqlite.exec("BEGIN IMMEDIATE");
    try {
      let booking = this.of(request);
      if (booking === undefined && this.isFree(asked)) {
        booking = { id: crypto.randomUUID(), guest, space, start, end };
        this.#sqlite.prepare("INSERT INTO charge (request, guest) VALUES (?, ?)").run(request, guest);
        this.#sqlite
          .prepare("INSERT INTO booking VALUES (?, ?, ?, ?, ?, ?)")
          .run(booking.id, request, guest, space, start, end);
      }
      this.#sqlite.exec("COMMIT");
      return booking;
    } catch (error) {
      this.#sqlite.exec("ROLLBACK");
      throw error;
    }
  }
}
