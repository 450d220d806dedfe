/**
 * Latchkey inside a Bun server, beside routes of its own.
 *
 *   bun examples/bun-server.ts
 */

import { createLatchkey } from "latchkey/bun";

const latchkey = createLatchkey({ db: process.env["LATCHKEY_DB"] ?? "latchkey.db" });

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env["PORT"] ?? 3000),
  websocket: latchkey.websocket,
  fetch: (request, self) => latchkey.fetch(request, self) ?? new Response("my own page\n"),
});

console.log(`listening on ${server.url.origin}`);
