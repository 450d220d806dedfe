/**
 * The example's app on the example's tables, in a process that is killed, with -9, at the step that DIES names: there is no later
 * moment at which it could tidy up. Its Latchkey is a server's.
 */

import process from "node:process";
import { connect, type IdempotencyCalls } from "latchkey/client/idempotency";
import { createApp } from "../../examples/booking/app.ts";
import { Bookings } from "../../examples/booking/bookings.ts";
import { serveApp } from "../hono/support/serve-app.ts";

const { DIES = "", LATCHKEY_URL = "", LEASE_MS } = process.env;

function at(step: string): void {
  if (step === DIES) process.kill(process.pid, "SIGKILL");
}

type Sqlite = ConstructorParameters<typeof Bookings>[0];

async function open(path: string): Promise<Sqlite> {
  if ("Bun" in globalThis) return new (await import("bun:sqlite")).Database(path);
  return new (await import("node:sqlite")).DatabaseSync(path);
}

function dying(sqlite: Sqlite): Sqlite {
  return {
    exec(sql) {
      sqlite.exec(sql);
      if (sql.startsWith("BEGIN")) at("before the charge");
      if (sql.startsWith("COMMIT")) at("after the commit");
    },
    prepare(sql) {
      const statement = sqlite.prepare(sql);
      return {
        get: (...values) => statement.get(...values),
        run(...values) {
          statement.run(...values);
          if (sql.startsWith("INSERT INTO charge")) at("after the charge");
          if (sql.startsWith("INSERT INTO booking")) at("after the insert");
        },
      };
    },
  };
}

const client = connect(LATCHKEY_URL);
const complete = client.idempotency.complete.bind(client.idempotency);
const doomed: Partial<IdempotencyCalls> = {
  async complete(...asked) {
    await complete(...asked);
    at("when all is done");
  },
};
Object.assign(client.idempotency, doomed);

const app = createApp({
  client,
  bookings: new Bookings(dying(await open("bookings.db"))),
  perMinuteMax: 100,
  leaseMs: Number(LEASE_MS),
  authorize: async () => at("at the bank"),
});
console.log((await serveApp(app.fetch)).url);
