/** The middleware's own tests, within workerd, and the middleware with the records of a Durable Object. */

import { env } from "cloudflare:workers";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { latchkey } from "../../../runtimes/workers.ts";
import { idempotency } from "../../../src/hono/index.ts";
import "../../hono/answers.test.ts";
import "../../hono/envelope.test.ts";
import "../../hono/fenced.test.ts";
import "../../hono/fingerprint.test.ts";
import "../../hono/idempotency.test.ts";
import "../../hono/key.test.ts";
import { World } from "./world.ts";

const CROWD = 200;

test(`${CROWD} requests with one key at once: the handler runs once and all get the same bytes`, async () => {
  const { space } = new World();
  const app = new Hono();
  let ran = 0;
  const calls = (): ReturnType<typeof callsOf> => callsOf(space);
  app.use(idempotency({ calls, principal: () => "ada", timeout: 15_000 }));
  app.post("/pay", async (c) => {
    ran += 1;
    return c.json({ payment: crypto.randomUUID(), of: await c.req.json() }, 201);
  });
  const send = async (amount = 5): Promise<Response> => {
    const headers = { "content-type": "application/json", "idempotency-key": "k" };
    return app.request("/pay", { method: "POST", headers, body: JSON.stringify({ amount }) });
  };
  const answers = await Promise.all(Array.from({ length: CROWD }, () => send()));
  expect(ran).toBe(1);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true")).toHaveLength(CROWD - 1);
  expect((await send(6)).status).toBe(422);
});

function callsOf(space: string) {
  return latchkey(env).locks(space).idempotency;
}
