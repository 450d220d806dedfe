/**
 * One caller that waits for each answer, the app, and Latchkey share one process and two cores: a figure holds the work of all of them.
 * The server of the HTTP rows has an SQLite file, as a user's would.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Hono } from "hono";
import { httpClient } from "../../src/client/http.ts";
import { connect, type IdempotencyCalls } from "../../src/client/idempotency.ts";
import { idempotency } from "../../src/hono/index.ts";
import type { Embedded } from "../../src/latchkey.ts";
import type { LatchkeyOptions, RunningServer, ServeOptions } from "../../src/options.ts";
import { print, type Subject, takeTurns } from "./turns.ts";

const ROUNDS = 31;
const OPERATIONS = 50;
/** Nobody is to be slowed down by a limit. */
const RATE = 1_000_000;

interface Runtime {
  readonly createLatchkey: (options?: LatchkeyOptions) => Embedded;
  readonly serve: (options?: ServeOptions) => Promise<RunningServer>;
}

interface Kept {
  readonly memory: IdempotencyCalls;
  readonly sqlite: IdempotencyCalls;
  readonly http: IdempotencyCalls;
  readonly session: IdempotencyCalls;
}

export async function requestCosts(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "latchkey-bench-"));
  stack.defer(() => rmSync(folder, { recursive: true }));
  const kept = await keepers(stack, folder);
  const url = await serveApp(stack, createApp(kept));

  const plain: Subject = { name: "the handler alone", run: () => post(`${url}/plain`) };
  const guarded = await takeTurns(
    [
      plain,
      { name: "with idempotency(), records in memory in the process", run: () => post(`${url}/memory`, newKey()) },
      { name: "with idempotency(), records in SQLite in the process", run: () => post(`${url}/sqlite`, newKey()) },
      { name: "with idempotency(), records on a server, in a session", run: () => post(`${url}/session`, newKey()) },
      { name: "with idempotency(), records on a server, over HTTP", run: () => post(`${url}/http`, newKey()) },
      { name: "a repeat of it, records in SQLite in the process", run: () => post(`${url}/sqlite`, "again") },
    ],
    ROUNDS,
    OPERATIONS,
  );
  print("a request over HTTP to the same handler", guarded);

  const pairs = await takeTurns(
    [
      plain,
      { name: "begin + complete in the process, in memory", run: () => pair(kept.memory) },
      { name: "begin + complete in the process, in SQLite", run: () => pair(kept.sqlite) },
      { name: "begin + complete on a server, in a session", run: () => pair(kept.session) },
      { name: "begin + complete on a server, over HTTP", run: () => pair(kept.http) },
    ],
    ROUNDS,
    OPERATIONS,
  );
  print("the pair of calls by itself", pairs);
}

async function keepers(stack: AsyncDisposableStack, folder: string): Promise<Kept> {
  const { createLatchkey, serve } = await runtime();
  const memory = stack.use(createLatchkey());
  const sqlite = stack.use(createLatchkey({ db: join(folder, "inside.db") }));
  const server = stack.use(await serve({ port: 0, db: join(folder, "server.db"), ratePerSecond: RATE }));
  const session = stack.use(connect(server.url));
  await session.ready;
  return {
    memory: memory.locks.idempotency,
    sqlite: sqlite.locks.idempotency,
    http: httpClient(server.url).idempotency,
    session: session.idempotency,
  };
}

function createApp(kept: Kept): Hono {
  const app = new Hono();
  for (const [name, calls] of Object.entries(kept)) {
    app.use(`/${name}`, idempotency({ calls: calls as IdempotencyCalls, principal: () => "bench" }));
  }
  app.post("/:how", async (c) => {
    const { amount } = await c.req.json<{ amount: number }>();
    return c.json({ paid: amount, by: "ada" }, 201);
  });
  return app;
}

async function post(url: string, key?: string): Promise<void> {
  const headers = { "content-type": "application/json", ...(key !== undefined && { "idempotency-key": key }) };
  const body = JSON.stringify({ amount: 5, currency: "EUR", reference: "a reference of some kind" });
  const response = await fetch(url, { method: "POST", headers, body });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`${response.status} ${text}`);
}

async function pair(calls: IdempotencyCalls): Promise<void> {
  const key = newKey();
  const begun = await calls.begin(key, { fingerprint: "a" });
  if (begun.status !== "started") throw new Error("the key is not new");
  await calls.complete(key, begun.attempt, '{"paid":5,"by":"ada"}');
}

function newKey(): string {
  return crypto.randomUUID();
}

async function runtime(): Promise<Runtime> {
  if ("Bun" in globalThis) return import("../../runtimes/bun.ts");
  return "Deno" in globalThis ? import("../../runtimes/deno.ts") : import("../../runtimes/node.ts");
}

async function serveApp(stack: AsyncDisposableStack, { fetch }: Hono): Promise<string> {
  const hostname = "127.0.0.1";
  if ("Bun" in globalThis) {
    const server = Bun.serve({ hostname, port: 0, fetch });
    stack.defer(() => server.stop(true));
    return `http://${hostname}:${server.port}`;
  }
  if ("Deno" in globalThis) {
    const server = Deno.serve({ hostname, port: 0, onListen: () => {} }, fetch);
    stack.defer(() => server.shutdown());
    return `http://${hostname}:${server.addr.port}`;
  }
  const { serve } = await import("@hono/node-server");
  return new Promise((resolve) => {
    const server = serve({ fetch, hostname, port: 0 }, ({ port }) => resolve(`http://${hostname}:${port}`));
    stack.defer(() => new Promise<void>((stopped) => server.close(() => stopped())));
  });
}
