/**
 * Latchkey inside a Deno server, beside routes of its own.
 *
 *   deno run -A examples/deno-server.ts
 */

import { createLatchkey } from "latchkey/deno";

const latchkey = createLatchkey({ db: Deno.env.get("LATCHKEY_DB") ?? "latchkey.db" });

const server = Deno.serve(
  { hostname: "127.0.0.1", port: Number(Deno.env.get("PORT") ?? 3000), onListen: () => {} },
  (request) => latchkey.fetch(request) ?? new Response("my own page\n"),
);

console.log(`listening on http://127.0.0.1:${server.addr.port}`);
