/** A Latchkey server that also serves pages to test: one origin, on a free port of this machine. */

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { createLatchkey, type Latchkey, type LatchkeyOptions } from "../../../runtimes/node.ts";

export interface PageParts {
  /** What stands in the body before the script runs. */
  readonly body?: string;
  /** What stands in the head. */
  readonly head?: string;
}

interface Served {
  readonly type: string;
  readonly text: string;
}

const PAGES = new URL("../pages/", import.meta.url);

export class Site implements AsyncDisposable {
  readonly url: string;
  readonly latchkey: Latchkey;
  readonly #server: Server;
  readonly #connections: ReadonlySet<Socket>;
  readonly #served: Map<string, Served>;

  private constructor(
    server: Server,
    latchkey: Latchkey,
    connections: ReadonlySet<Socket>,
    served: Map<string, Served>,
  ) {
    this.#server = server;
    this.latchkey = latchkey;
    this.#connections = connections;
    this.#served = served;
    // A name and not a number only so that it reads well: both are secure contexts.
    this.url = `http://localhost:${(server.address() as AddressInfo).port}`;
  }

  static async start(options: LatchkeyOptions = {}): Promise<Site> {
    const latchkey = createLatchkey(options);
    const connections = new Set<Socket>();
    const served = new Map<string, Served>();
    const server = createServer((incoming, outgoing) => {
      if (latchkey.request(incoming, outgoing)) return;
      const { pathname } = new URL(incoming.url ?? "/", "http://localhost");
      const found = served.get(pathname);
      outgoing.writeHead(found === undefined ? 404 : 200, { "content-type": found?.type ?? "text/plain" });
      outgoing.end(found?.text);
    });
    server.on("upgrade", (incoming, connection: Socket, head) => {
      if (!latchkey.upgrade(incoming, connection, head)) connection.destroy();
    });
    server.on("connection", (connection: Socket) => {
      connections.add(connection);
      connection.once("close", () => connections.delete(connection));
    });
    await once(server.listen(0, "localhost"), "listening");
    return new Site(server, latchkey, connections, served);
  }

  /**
   * Bundles a script as a user's tool would, and gives the address of a page that runs it. `script`: a file of `pages/`, or
   * any path. The page's name is the script's, so the same script is the same page.
   */
  async page(script: string, { body = "", head = "" }: PageParts = {}): Promise<string> {
    const path = fileURLToPath(new URL(script, PAGES));
    const name = `/${encodeURIComponent(script.replaceAll(/^.*\/|\.tsx?$/g, ""))}`;
    const text = await bundle(path);
    this.#served.set(`${name}.js`, { type: "text/javascript", text });
    return this.html(name, `<head>${head}</head><body>${body}<script src="${name}.js"></script></body>`);
  }

  /** Serves a page as it is. */
  html(path: string, text: string): string {
    const whole = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${path}</title>${text}</html>`;
    this.#served.set(path, { type: "text/html; charset=utf-8", text: whole });
    return this.url + path;
  }

  /** Breaks every connection, and both ends know. */
  cut(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  /** Nothing that comes in on the present connections is heard any more, and they look open all the while, until they are cut. */
  deafen(): Disposable {
    const connections = [...this.#connections];
    for (const connection of connections) connection.pause();
    return {
      [Symbol.dispose]: () => {
        for (const connection of connections) connection.destroy();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.latchkey.close();
    const closed = once(this.#server.close(), "close");
    this.cut();
    await closed;
  }
}

async function bundle(path: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    target: "es2022",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"development"' },
    logLevel: "silent",
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`${path} gave no bundle`);
  return output.text;
}
