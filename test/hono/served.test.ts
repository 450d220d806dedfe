/** The middleware in an app that this runtime serves, on records that a Latchkey server of this runtime keeps. */

import { join } from "node:path";
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { httpClient } from "../../src/client/http.ts";
import { AttemptLostError, connect, type IdempotencyCalls } from "../../src/client/idempotency.ts";
import { UnavailableError } from "../../src/client/index.ts";
import { idempotency, type IdempotencyOptions, type IdempotencyVariables } from "../../src/hono/index.ts";
import type { EmbeddedServer } from "../runtimes/runtime.ts";
import { runtimeUnderTest } from "../runtimes/runtime.ts";
import { driverOfRuntime, temporaryFolder } from "../stores/drivers.ts";
import { serveApp } from "./support/serve-app.ts";

const CROWD = 200;
const runtime = await runtimeUnderTest();
const driver = await driverOfRuntime();

interface Way {
  readonly name: string;
  readonly calls: (server: EmbeddedServer) => IdempotencyCalls;
  /** Set where each waiting request keeps a connection of its own to the Latchkey server. */
  readonly connects?: true;
}

const WAYS: readonly Way[] = [
  { name: "in the process", calls: ({ latchkey }) => latchkey.locks.idempotency },
  { name: "over HTTP", calls: ({ url }) => httpClient(url).idempotency, connects: true },
  {
    name: "in a session",
    calls: ({ url }) => {
      const client = connect(url);
      onTestFinished(() => client.close());
      return client.idempotency;
    },
  },
];

async function embed(options: Parameters<typeof runtime.embed>[0] = {}): Promise<EmbeddedServer> {
  const server = await runtime.embed(options);
  onTestFinished(async () => {
    await server.latchkey.close();
    await server.stop();
  });
  return server;
}

type App = Hono<{ Variables: IdempotencyVariables }>;
type Handler = (c: Context<{ Variables: IdempotencyVariables }>) => Response | Promise<Response>;
type Send = (body?: object) => Promise<Response>;

/** `inside`: without a network between the caller and the app. */
async function serve(
  calls: IdempotencyCalls,
  handler: Handler,
  { inside, ...options }: Partial<IdempotencyOptions> & { readonly inside?: true | undefined } = {},
): Promise<Send> {
  const app = new Hono<{ Variables: IdempotencyVariables }>();
  app.use(idempotency({ calls, principal: () => "ada", ...options }));
  app.post("/pay", handler);
  const init = (body: object): RequestInit => ({
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": "k" },
    body: JSON.stringify(body),
  });
  if (inside === true) return async (body = { amount: 5 }) => app.request("/pay", init(body));
  const served = await serveApp(app.fetch);
  onTestFinished(() => served.stop().then(() => undefined));
  return (body = { amount: 5 }) => fetch(`${served.url}/pay`, init(body));
}

describe.each(WAYS)(`on ${runtime.name}, records $name`, { timeout: 30_000 }, ({ calls: callsOf, connects }) => {
  test(`${CROWD} requests with one key at once: the handler runs once and all get the same bytes`, async () => {
    const calls = callsOf(await embed());
    let ran = 0;
    const gate = Promise.withResolvers<void>();
    const pay: Handler = async (c) => {
      ran += 1;
      await gate.promise;
      return c.json({ payment: crypto.randomUUID(), of: await c.req.json() }, 201, { location: "/payments/1" });
    };
    // Bun has 256 connections a process, and here caller and app are one.
    const send = await serve(calls, pay, { timeout: 20_000, inside: connects });
    const sent = Array.from({ length: CROWD }, () => send());
    // It is not done before records are looked at.
    expect((await send({ amount: 6 })).status).toBe(422);
    gate.resolve();
    const answers = await Promise.all(sent);

    expect(ran).toBe(1);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ headers }) => headers.get("location")))).toEqual(new Set(["/payments/1"]));
    expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1);
    const replayed = answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true");
    expect(replayed).toHaveLength(CROWD - 1);
  });

  test("who does not wait is told when to come again, and gets the answer then", async () => {
    const calls = callsOf(await embed());
    const gate = Promise.withResolvers<void>();
    const runs = Promise.withResolvers<void>();
    const pay: Handler = async (c) => {
      runs.resolve();
      await gate.promise;
      return c.text("paid");
    };
    const send = await serve(calls, pay, { lease: 20_000 });
    const first = send();
    await runs.promise;
    const second = await send();
    expect(second.status).toBe(409);
    expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(second.headers.get("retry-after"))).toBeLessThanOrEqual(20);
    gate.resolve();
    expect(await (await first).text()).toBe("paid");
    expect(await (await send()).text()).toBe("paid");
  });

  test("the largest answer that is kept comes back byte for byte", async () => {
    const calls = callsOf(await embed());
    // Not repeating, and not text.
    const bytes = Uint8Array.from({ length: 1024 * 1024 - 100 }, (_, at) => (at * 2_654_435_761) >>> 24);
    const send = await serve(calls, (c) => c.body(bytes, 200, { "content-type": "image/png" }));
    for (const replayed of [null, "true"]) {
      const answer = await send();
      expect([answer.status, answer.headers.get("idempotent-replayed")]).toEqual([200, replayed]);
      expect(answer.headers.get("content-type")).toBe("image/png");
      expect(Buffer.compare(Buffer.from(await answer.arrayBuffer()), Buffer.from(bytes))).toBe(0);
    }
  });

  test("an attempt that was lost while its handler ran gives no answer; that of the next one stands", async () => {
    const server = await embed();
    const gate = Promise.withResolvers<void>();
    const runs = Promise.withResolvers<void>();
    let ran = 0;
    const pay: Handler = async (c) => {
      const mine = ++ran;
      runs.resolve();
      if (mine === 1) await gate.promise;
      return c.text(`paid by ${mine}`);
    };
    const send = await serve(callsOf(server), pay);
    const first = send();
    await runs.promise;
    // An operator does what a lease that ends does as well.
    expect(await server.latchkey.locks.idempotency.forget('http/["ada","k"]')).toBe(true);
    expect(await (await send()).text()).toBe("paid by 2");
    gate.resolve();
    const late = await first;
    expect(late.status).toBe(503);
    expect(await late.json()).toMatchObject({ code: "attempt_lost" });
    expect(await (await send()).text()).toBe("paid by 2");
    expect(ran).toBe(2);
  });
});

describe(`over the network of ${runtime.name}`, () => {
  const address = async (app: App): Promise<string> => {
    const served = await serveApp(app.fetch);
    onTestFinished(() => served.stop().then(() => undefined));
    return `${served.url}/pay`;
  };
  const appWith = async (handler: Handler, options: Partial<IdempotencyOptions> = {}): Promise<App> => {
    const { latchkey } = await embed();
    const app: App = new Hono<{ Variables: IdempotencyVariables }>();
    app.use(idempotency({ calls: latchkey.locks.idempotency, principal: () => "ada", ...options }));
    app.all("/pay", handler);
    return app;
  };
  const KEY = { "idempotency-key": "k" };

  test.each<[string, () => Response | Promise<Response>]>([
    ["a redirect", () => new Response(null, { status: 303, headers: { location: "/paid?a=b" } })],
    ["no content", () => new Response(null, { status: 204, headers: { etag: '"1"' } })],
    ["not modified", () => new Response(null, { status: 304, headers: { etag: '"1"' } })],
    ["a refusal", () => Response.json({ no: "money" }, { status: 402 })],
    ["bytes in a stream", () => new Response(streamOf(Uint8Array.of(0, 255), Uint8Array.of(128)))],
    ["text in a stream", () => new Response(streamOf("é", "!"), { headers: { "content-type": "text/plain" } })],
  ])("%s comes back as it was", async (_what, answer) => {
    let ran = 0;
    const url = await address(await appWith(() => (ran++, answer())));
    const seen: unknown[] = [];
    for (const replayed of [null, "true"]) {
      const { status, headers, ...rest } = await fetchWhole(url, { method: "POST", headers: KEY });
      expect(headers.get("idempotent-replayed")).toBe(replayed);
      const named = ["content-type", "etag", "location"].map((name) => headers.get(name));
      seen.push([status, named, rest.bytes]);
    }
    expect(seen[1]).toEqual(seen[0]);
    expect(ran).toBe(1);
  });

  test("two keys in one request are none, a key beyond ASCII neither, and GET and HEAD need none", async () => {
    let ran = 0;
    const url = await address(await appWith((c) => c.text(`${++ran}`)));
    const two = new Headers(KEY);
    two.append("idempotency-key", "l");
    for (const headers of [two, { "idempotency-key": "\u00e9" }, { "idempotency-key": '""' }]) {
      const answer = await fetch(url, { method: "POST", headers });
      expect(await answer.json()).toMatchObject({ status: 400, code: "key_malformed" });
    }
    expect(ran).toBe(0);
    for (const method of ["GET", "HEAD", "GET"]) await fetch(url, { method, headers: KEY });
    expect(ran).toBe(3);
  });

  test("a caller that hangs up while its request is carried out gets the answer when it comes again", async () => {
    const gate = Promise.withResolvers<void>();
    const runs = Promise.withResolvers<void>();
    let ran = 0;
    const app = await appWith(
      async (c) => {
        ran += 1;
        runs.resolve();
        await gate.promise;
        return c.text("paid");
      },
      { timeout: 20_000 },
    );
    const url = await address(app);
    const stop = new AbortController();
    const gone = fetch(url, { method: "POST", headers: KEY, signal: stop.signal });
    await runs.promise;
    stop.abort();
    await expect(gone).rejects.toHaveProperty("name", "AbortError");
    const again = fetch(url, { method: "POST", headers: KEY });
    gate.resolve();
    expect(await (await again).text()).toBe("paid");
    expect(ran).toBe(1);
  });

  test("a caller that hangs up while it waits for another's answer has no turn", async () => {
    const { latchkey, url: server } = await embed();
    const app: App = new Hono<{ Variables: IdempotencyVariables }>();
    const calls = latchkey.locks.idempotency;
    app.use(idempotency({ calls, principal: () => "ada", timeout: 60_000, fingerprint: () => "" }));
    let ran = 0;
    app.post("/pay", (c) => c.text(`${++ran}`));
    const url = await address(app);
    const begun = await calls.begin('http/["ada","k"]');
    if (begun.status !== "started") throw new Error("not started");
    const stop = new AbortController();
    const gone = fetch(url, { method: "POST", headers: KEY, signal: stop.signal });
    const waiting = async (): Promise<unknown> => {
      const answer = await fetch(`${server}/v1/idempotency/${encodeURIComponent('http/["ada","k"]')}`);
      return ((await answer.json()) as { waiting: number }).waiting;
    };
    await vi.waitFor(async () => expect(await waiting()).toBe(1), 5000);
    stop.abort();
    await expect(gone).rejects.toHaveProperty("name", "AbortError");
    await vi.waitFor(async () => expect(await waiting()).toBe(0), 5000);
    await calls.fail('http/["ada","k"]', begun.attempt);
    expect(ran).toBe(0);
  });

  test("an attempt whose session is lost while its handler runs: it hears so, and the next one's answer counts", async () => {
    const { url: server } = await embed();
    const client = connect(server);
    onTestFinished(() => client.close());
    const told = Promise.withResolvers<unknown>();
    const runs = Promise.withResolvers<void>();
    let ran = 0;
    const app: App = new Hono<{ Variables: IdempotencyVariables }>();
    const calls = [client.idempotency, httpClient(server).idempotency];
    app.use(idempotency({ calls: () => calls[ran]!, principal: () => "ada", timeout: 20_000 }));
    app.post("/pay", async (c) => {
      const mine = ++ran;
      const { signal } = c.get("idempotency")!;
      runs.resolve();
      if (mine === 1) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        told.resolve(signal.reason);
      }
      return c.text(`paid by ${mine}`);
    });
    const url = await address(app);
    const first = fetch(url, { method: "POST", headers: KEY });
    await runs.promise;
    const second = fetch(url, { method: "POST", headers: KEY });
    await client.close();
    expect(await told.promise).toBeInstanceOf(AttemptLostError);
    expect(await (await second).text()).toBe("paid by 2");
    const late = await first;
    expect([late.status, late.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await late.json()).toMatchObject({ code: "attempt_lost", retryable: true });
  });

  test("with cors() a page may read a replay, and ask for leave first", async () => {
    const { latchkey } = await embed();
    const app: App = new Hono<{ Variables: IdempotencyVariables }>();
    app.use(cors({ origin: "https://page.example" }));
    app.use(idempotency({ calls: latchkey.locks.idempotency, principal: () => "ada" }));
    app.post("/pay", (c) => c.text("paid"));
    const url = await address(app);
    const origin = "https://page.example";
    const asked = { "access-control-request-method": "POST", "access-control-request-headers": "idempotency-key" };
    const leave = await fetch(url, { method: "OPTIONS", headers: { origin, ...asked } });
    expect([leave.status, leave.headers.get("access-control-allow-headers")]).toEqual([204, "idempotency-key"]);
    for (const replayed of [null, "true"]) {
      const { headers } = await fetchWhole(url, { method: "POST", headers: { ...KEY, origin } });
      expect(headers.get("idempotent-replayed")).toBe(replayed);
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(headers.get("access-control-expose-headers")).toBe("Idempotent-Replayed, Retry-After");
    }
  });
});

async function fetchWhole(url: string, init: RequestInit) {
  const answer = await fetch(url, { ...init, redirect: "manual" });
  return { status: answer.status, headers: answer.headers, bytes: [...new Uint8Array(await answer.arrayBuffer())] };
}

function streamOf(...parts: readonly unknown[]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

test("a record that is damaged on disk: 503, the handler does not run, nothing is overwritten", async () => {
  const db = join(temporaryFolder(onTestFinished), "latchkey.db");
  let ran = 0;
  const pay: Handler = (c) => c.text(`paid ${++ran}`);
  const before = await embed({ db });
  expect(await (await (await serve(before.latchkey.locks.idempotency, pay))()).text()).toBe("paid 1");
  await before.latchkey.close();

  const damage = driver.connect(db);
  damage.prepare("UPDATE record SET record = 'damaged'").run();
  damage.close();
  const errors: unknown[] = [];
  const { latchkey } = await runtime.embed({ db, onError: (error) => errors.push(error) });
  const send = await serve(latchkey.locks.idempotency, pay);
  for (let i = 0; i < 2; i++) {
    const answer = await send();
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, "unavailable"]);
  }
  await latchkey.close();
  expect([ran, errors.length]).toEqual([1, 2]);
  const look = driver.connect(db);
  expect(look.prepare("SELECT record FROM record").all()).toEqual([{ record: "damaged" }]);
  look.close();
});

test("a record that is damaged on disk while it runs: not run again, until an operator forgets it", async () => {
  const db = join(temporaryFolder(onTestFinished), "latchkey.db");
  const before = await embed({ db });
  const leaseMs = 100;
  expect((await before.latchkey.locks.idempotency.begin("k", { lease: leaseMs })).status).toBe("started");
  await before.latchkey.close();

  const damage = driver.connect(db);
  damage.prepare("UPDATE record SET record = substr(record, 2)").run();
  damage.close();
  const { latchkey, url } = await embed({ db, onError: () => undefined });
  const { idempotency: next } = latchkey.locks;
  const begun = performance.now();
  while (performance.now() - begun < 2 * leaseMs) await expect(next.begin("k")).rejects.toThrow(UnavailableError);
  await expect(next.forget("k", "guess")).rejects.toThrow(UnavailableError);
  expect(await httpClient(url).idempotency.forget("k")).toBe(true);
  expect(await next.begin("k")).toMatchObject({ status: "started", number: 1 });
});
