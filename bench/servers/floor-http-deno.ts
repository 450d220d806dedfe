/** A bare HTTP handler on Deno, with hono under `/hono`. */

import { answerTo, type Asked, HEADERS } from "./floor-http.ts";
import { createFloor } from "./floor-http-hono.ts";

const hono = createFloor();

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async (request) => {
  const path = request.url.slice(request.url.indexOf("/", 8));
  if (path.startsWith("/hono")) return hono.fetch(request);
  return new Response(answerTo(path, (await request.json()) as Asked), { headers: HEADERS });
});

console.log(`http://127.0.0.1:${server.addr.port}`);
