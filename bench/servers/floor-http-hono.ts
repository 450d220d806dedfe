/** The same handler with the router that Latchkey uses, and nothing else of Latchkey. */

import { Hono } from "hono";
import { answerTo, type Asked, HEADERS } from "./floor-http.ts";

export function createFloor(): Hono {
  const app = new Hono();
  app.post("/hono/latch/:key/:call", async ({ req }) => {
    const asked = await req.json<Asked>();
    return new Response(answerTo(req.path, asked), { headers: HEADERS });
  });
  return app;
}
