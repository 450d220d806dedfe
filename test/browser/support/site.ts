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
  readonly latchkey: Latchkey;
  /** Method and path of every request so far, WebSockets excepted. */
  readonly requests: string[] = [];
  readonly #server: Server;
  readonly #connections = new Set<Socket>();
  readonly #served = new Map<string, Served>();

  private constructor(options: LatchkeyOptions) {
    const latchkey = createLatchkey(options);
    this.latchkey = latchkey;
    this.#server = createServer((incoming, outgoing) => {
      const path = incoming.url ?? "/";
      this.requests.push(`${incoming.method} ${path}`);
      if (latchkey.request(incoming, outgoing)) return;
      const found = this.#served.get(new URL(path, this.url).pathname);
      outgoing.writeHead(found === undefined ? 404 : 200, { "content-type": found?.type ?? "text/plain" });
      outgoing.end(found?.text);
    });
    this.#server.on("upgrade", (incoming, connection: Socket, head) => {
      if (!latchkey.upgrade(incoming, connection, head)) connection.destroy();
    });
    this.#server.on("connection", (connection: Socket) => {
      this.#connections.add(connection);
      connection.once("close", () => this.#connections.delete(connection));
    });
  }

  static async start(options: LatchkeyOptions = {}): Promise<Site> {
    const site = new Site(options);
    await once(site.#server.listen(0, "localhost"), "listening");
    return site;
  }

  /** A secure context, as every page from this machine is. */
  get url(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
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
