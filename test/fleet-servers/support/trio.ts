/** Three servers of one fleet, each on another runtime. */

import { bun, deno, node, type Runtime } from "../../conformance/runtimes.ts";
import { type Server, type StartOptions, startServer, temporaryFolder } from "../../conformance/server.ts";
import type { FleetChoices } from "../../../src/options.ts";
import { inFleet } from "./runtime.ts";

export type Name = "bun" | "deno" | "node";

export interface TrioOptions {
  readonly redis: FleetChoices["redis"];
  readonly leaseMs: number;
  readonly env?: Readonly<Record<string, string>>;
  /** What runs the command of a server that is elsewhere. */
  readonly within?: (name: Name) => readonly string[];
}

const RUNTIMES: Readonly<Record<Name, Runtime>> = { bun, deno, node };
export const NAMES: readonly Name[] = ["bun", "deno", "node"];

export class Trio implements AsyncDisposable {
  readonly #options: TrioOptions;
  readonly #folder = temporaryFolder();
  readonly #servers = new Map<Name, Server>();

  private constructor(options: TrioOptions) {
    this.#options = options;
  }

  static async start(options: TrioOptions): Promise<Trio> {
    const trio = new Trio(options);
    try {
      await Promise.all(NAMES.map((name) => trio.start(name)));
    } catch (error) {
      await trio[Symbol.asyncDispose]();
      throw error;
    }
    return trio;
  }

  /** Once more, where it was. */
  async start(name: Name): Promise<void> {
    const { redis, leaseMs, env, within } = this.#options;
    const before = this.#servers.get(name);
    const port = before === undefined ? undefined : { PORT: new URL(before.url).port };
    const options: StartOptions = { env: { ...env, ...port }, folder: this.#folder.path };
    const runtime = inFleet(RUNTIMES[name], redis, leaseMs);
    this.#servers.set(name, await startServer(runtime, { ...options, ...(within && { within: within(name) }) }));
  }

  get(name: Name): Server {
    const server = this.#servers.get(name);
    if (server === undefined) throw new Error(`there is no server on ${name}`);
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server[Symbol.asyncDispose]()));
    this.#folder.remove();
  }
}
