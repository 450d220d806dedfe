import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import type { RunningServer, ServeOptions } from "../../src/options.ts";
import { temporaryFolder } from "../stores/drivers.ts";
import { type EmbeddedServer, runtimeUnderTest } from "./runtime.ts";

const runtime = await runtimeUnderTest();

async function serve(options: ServeOptions = {}): Promise<RunningServer> {
  const server = await runtime.serve({ port: 0, ...options });
  onTestFinished(() => server.close());
  return server;
}

async function embed(): Promise<EmbeddedServer> {
  const embedded = await runtime.embed({});
  onTestFinished(async () => {
    await embedded.latchkey.close();
    await embedded.stop();
  });
  return embedded;
}

async function post(url: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}

describe(`a server of its own on ${runtime.name}`, () => {
  test("listens where it says, and answers the three calls", async () => {
    const { url, port } = await serve();
    expect(url).toBe(`http://127.0.0.1:${port}`);

    const { token } = await post(`${url}/v1/latch/demo/acquire`, { ttl: 10_000, timeout: 10_000 });
    expect(await post(`${url}/v1/latch/demo/acquire`, { timeout: 0 })).toMatchObject({ code: "timeout" });
    expect(await post(`${url}/v1/latch/demo/release`, { token })).toEqual({ status: "released" });
    expect(await (await fetch(`${url}/v1/latch/demo`)).json()).toMatchObject({ status: "free" });
  });

  test("answers what nobody owns with a problem", async () => {
    const { url } = await serve();
    const response = await fetch(`${url}/nothing`);

    expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  });

  test("closes: sessions are told, the port and the file are free for the next", async () => {
    const db = join(temporaryFolder(onTestFinished), "latchkey.db");
    const first = await serve({ db });
    const { promise: told, resolve: tell } = Promise.withResolvers<void>();
    const client = connect(first.url, { onStatus: (status) => status === "reconnecting" && tell() });
    onTestFinished(() => client.close());
    await client.ready;
    const { fence } = await post(`${first.url}/v1/latch/demo/acquire`, { ttl: 60_000 });
    await first.close();
    await told;

    const second = await serve({ db, port: first.port });
    const { holders } = (await (await fetch(`${second.url}/v1/latch/demo`)).json()) as { holders: unknown };
    expect(holders).toMatchObject([{ fence }]);
  });

  test("a second close waits for the same end", async () => {
    const server = await serve();

    await Promise.all([server.close(), server.close(), server[Symbol.asyncDispose]()]);
  });

  test("a port that is taken is an error, and the file is let go of", async () => {
    const db = join(temporaryFolder(onTestFinished), "latchkey.db");
    const { port } = await serve();

    await expect(serve({ db, port })).rejects.toThrow(/in use|EADDRINUSE/i);
    await serve({ db });
  });

  test("without keys nobody but this machine may be listened to", async () => {
    await expect(serve({ hostname: "0.0.0.0" })).rejects.toThrow("needs keys");
  });

  test("a peer that does not answer the close holds nobody up for long", async () => {
    const server = await serve();
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/v1/session`);
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener("close", resolve));
    const startedAt = performance.now();
    await server.close();

    expect(performance.now() - startedAt).toBeLessThan(4_000);
    expect((await closed).code).toBe(1012);
  });
});

test("on Deno Deploy, where nobody owns the locks, nothing is started", async () => {
  process.env["DENO_DEPLOY"] = "true";
  onTestFinished(() => void delete process.env["DENO_DEPLOY"]);
  const outcome = runtime.name === "deno" ? /Deno Deploy runs many processes/ : /^started$/;
  const tell = (work: Promise<unknown>): Promise<string> => work.then(() => "started", String);

  expect(await tell(serve())).toMatch(outcome);
  expect(await tell(embed())).toMatch(outcome);
});

describe(`inside somebody's own server on ${runtime.name}`, () => {
  test("answers its own paths and leaves the others alone", async () => {
    const { url } = await embed();

    expect(await (await fetch(`${url}/about`)).text()).toBe("my own page");
    expect(await (await fetch(`${url}/v1`)).text()).toBe("my own page");
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok" });
    expect((await fetch(`${url}/v1/nothing`)).status).toBe(404);
  });

  test("locks without a network are those that others reach over it", async () => {
    const { url, latchkey } = await embed();
    const remote = connect(url);
    onTestFinished(() => remote.close());
    await remote.ready;
    const lock = await latchkey.locks.acquire("key");
    expect(await remote.tryAcquire("key")).toBeNull();
    const caller = post(`${url}/v1/latch/key/acquire`, { timeout: 60_000 });
    while ((await latchkey.locks.status("key")).waiting === 0) await Promise.resolve();
    const waiting = remote.acquire("key");
    await lock.release();
    const { token } = await caller;
    expect(await post(`${url}/v1/latch/key/release`, { token })).toEqual({ status: "released" });

    expect((await waiting).fence).toBeGreaterThan(lock.fence);
  });
});
