/** A redis-server that a test may kill, freeze, and start again where it was. */

import { mkdtempDisposableSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { Child } from "../../conformance/child.ts";

export interface RedisOptions {
  /** Further arguments of redis-server. Default: what is written is on the disk before it is answered. */
  readonly args?: readonly string[];
  /** A command that runs it, such as `ip netns exec name`, and the address that it has there. */
  readonly within?: readonly string[];
  readonly address?: string;
}

export const DURABLE: readonly string[] = ["--appendonly", "yes", "--appendfsync", "always"];
const LOOPBACK = "127.0.0.1";
const PORTS_MAX = 5;

export class Redis implements AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly #options: RedisOptions;
  readonly #folder = mkdtempDisposableSync(join(tmpdir(), "latchkey-redis-"));
  #child: Child | undefined;

  private constructor(port: number, options: RedisOptions) {
    this.port = port;
    this.#options = options;
    this.url = `redis://${options.address ?? LOOPBACK}:${port}`;
  }

  /** Resolves when it accepts connections. */
  static async start(options: RedisOptions = {}): Promise<Redis> {
    for (let tries = 1; ; tries++) {
      const redis = new Redis(await freePort(), options);
      try {
        await redis.start();
        return redis;
      } catch (error) {
        await redis[Symbol.asyncDispose]();
        // Many servers start at once, and one of them may be faster.
        if (tries === PORTS_MAX || !String(error).includes("in use")) throw error;
      }
    }
  }

  /** With what it wrote before. */
  async start(): Promise<void> {
    const { args = DURABLE, within = [], address = LOOPBACK } = this.#options;
    const place = ["--bind", address, "--protected-mode", "no", "--port", `${this.port}`, "--dir", this.#folder.path];
    this.#child = new Child([...within, "redis-server", ...place, "--save", "", ...args], {}, this.#folder.path);
    await this.#child.printed(/Ready to accept connections/);
  }

  /** Kills it, and starts it without anything that it wrote before. */
  async lose(): Promise<void> {
    await this.kill();
    for (const name of readdirSync(this.#folder.path)) rmSync(join(this.#folder.path, name), { recursive: true });
    await this.start();
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.signal(signal);
  }

  async kill(): Promise<void> {
    await this.#child?.kill();
  }

  /** One command, over a connection of its own. */
  async ask(...command: readonly string[]): Promise<unknown> {
    const client = createClient({
      url: this.url,
      RESP: 2,
      disableClientInfo: true,
      socket: { reconnectStrategy: false },
    });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return await client.sendCommand([...command]);
    } finally {
      client.destroy();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#folder.remove();
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, LOOPBACK, resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}
