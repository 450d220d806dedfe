/**
 * Books rooms, on Node, Bun or Deno. Try it:
 *
 *   node examples/booking/server.ts
 *   curl -i -H 'Idempotency-Key: 1' -d '{"guest":"ada","space":"attic","start":"2031-05-01","end":"2031-05-03"}' http://127.0.0.1:9000/bookings
 *
 * and the second line again: the same bytes, and `Idempotent-Replayed: true`. It has its own Latchkey inside; with LATCHKEY_URL it uses a
 * server's, as several of these behind a load balancer must.
 */

import { setTimeout as passed } from "node:timers/promises";
import process from "node:process";
import { type IdempotentClient, connect } from "latchkey/client/idempotency";
import { createApp } from "./app.ts";
import { Bookings } from "./bookings.ts";

const { LATCHKEY_URL, PORT = "9000", DB = "bookings.db", LATCHKEY_DB = "latchkey.db" } = process.env;
const { PER_MINUTE = "30", LEASE_MS = "30000", BANK_MS = "200" } = process.env;

const app = createApp({
  client: LATCHKEY_URL === undefined ? await embedded(LATCHKEY_DB) : connect(LATCHKEY_URL),
  bookings: await Bookings.open(DB),
  perMinuteMax: Number(PER_MINUTE),
  leaseMs: Number(LEASE_MS),
  authorize: async ({ guest }, signal) => {
    console.log(`asking the bank of ${guest}`);
    await passed(Number(BANK_MS), undefined, { signal });
  },
});
console.log(`listening on http://127.0.0.1:${await serve(Number(PORT))}`);

async function embedded(db: string): Promise<IdempotentClient> {
  if ("Bun" in globalThis) return (await import("latchkey/bun")).createLatchkey({ db }).connect();
  if ("Deno" in globalThis) return (await import("latchkey/deno")).createLatchkey({ db }).connect();
  return (await import("latchkey/node")).createLatchkey({ db }).connect();
}

async function serve(port: number): Promise<number | undefined> {
  const here = { fetch: app.fetch, hostname: "127.0.0.1", port };
  if ("Bun" in globalThis) return Bun.serve(here).port;
  if ("Deno" in globalThis)
    return Deno.serve({ hostname: here.hostname, port, onListen: () => {} }, here.fetch).addr.port;
  const { serve: serveOnNode } = await import("@hono/node-server");
  return new Promise((resolve) => serveOnNode(here, (address) => resolve(address.port)));
}
