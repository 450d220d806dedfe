/** The runtime that runs the tests: its own server, and a server of somebody else's with Latchkey in it. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Embedded } from "../../src/latchkey.ts";
import type { LatchkeyOptions, RunningServer, ServeOptions } from "../../src/options.ts";

export interface RuntimeUnderTest {
  readonly name: "bun" | "deno" | "node";
  serve(options: ServeOptions): Promise<RunningServer>;
  /** Answers `my own page` to all that is not Latchkey's. */
  embed(options: LatchkeyOptions): Promise<EmbeddedServer>;
}

export interface EmbeddedServer {
  readonly latchkey: Embedded;
  readonly url: string;
  stop(): Promise<unknown>;
}

const PAGE = "my own page";
const hostname = "127.0.0.1";

export function runtimeUnderTest(): Promise<RuntimeUnderTest> {
  if ("Bun" in globalThis) return bun();
  return "Deno" in globalThis ? deno() : node();
}

async function bun(): Promise<RuntimeUnderTest> {
  const { createLatchkey, serve } = await import("../../runtimes/bun.ts");
  return {
    name: "bun",
    serve,
    async embed(options) {
      const latchkey = createLatchkey(options);
      const server = Bun.serve({
        hostname,
        port: 0,
        websocket: latchkey.websocket,
        fetch: (request, self) => latchkey.fetch(request, self) ?? new Response(PAGE),
      });
      return { latchkey, url: `http://${hostname}:${server.port}`, stop: () => server.stop(true) };
    },
  };
}

async function deno(): Promise<RuntimeUnderTest> {
  const { createLatchkey, serve } = await import("../../runtimes/deno.ts");
  return {
    name: "deno",
    serve,
    async embed(options) {
      const latchkey = createLatchkey(options);
      const server = Deno.serve(
        { hostname, port: 0, onListen: () => {} },
        (request) => latchkey.fetch(request) ?? new Response(PAGE),
      );
      return { latchkey, url: `http://${hostname}:${server.addr.port}`, stop: () => server.shutdown() };
    },
  };
}

async function node(): Promise<RuntimeUnderTest> {
  const { createLatchkey, serve } = await import("../../runtimes/node.ts");
  return {
    name: "node",
    serve,
    async embed(options) {
      const latchkey = createLatchkey(options);
      const server = createServer((incoming, outgoing) => {
        if (!latchkey.request(incoming, outgoing)) outgoing.end(PAGE);
      });
      server.on("upgrade", (incoming, connection, head) => {
        if (!latchkey.upgrade(incoming, connection, head)) connection.end("HTTP/1.1 418 My own\r\n\r\n");
      });
      await new Promise<void>((resolve) => {
        server.listen(0, hostname, resolve);
      });
      const { port } = server.address() as AddressInfo;
      const stop = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
      return { latchkey, url: `http://${hostname}:${port}`, stop };
    },
  };
}
