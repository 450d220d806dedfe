/** Somebody's Worker, whose payments are carried out once. Its bank is elsewhere, and charges once for a key. */

import { Hono } from "hono";
import { latchkey, type LatchkeyEnv } from "../../runtimes/workers.ts";
import { idempotency } from "../../src/hono/index.ts";

export { LockSpace } from "../../runtimes/workers.ts";

const LEASE_MS = 3000;

interface Env extends LatchkeyEnv {
  readonly BANK: string;
}

const app = new Hono<{ Bindings: Env }>();
const calls = ({ env }: { readonly env: Env }) => latchkey(env).locks().idempotency;
app.use(idempotency({ calls, principal: () => "ada", lease: LEASE_MS, timeout: 20_000 }));
app.post("/payments", async (c) => {
  const charged = await fetch(c.env.BANK, { method: "POST", body: c.req.header("Idempotency-Key") ?? "" });
  return c.json({ payment: await charged.text(), of: await c.req.json() }, 201, { location: "/payments/1" });
});

export default app;
