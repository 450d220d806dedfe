/** Servers: each is started when it is first needed, and all are ended together. */

import { type ServerKind, start, whyMissing } from "../servers/kinds.ts";
import type { BenchServer } from "../servers/server.ts";
import type { Servers } from "./measure.ts";

export class ServerPool implements Servers, AsyncDisposable {
  readonly #running = new Map<ServerKind, Promise<BenchServer>>();
  readonly #given: string | undefined;

  constructor(given: string | undefined) {
    this.#given = given;
  }

  whyMissing(kind: ServerKind | "given"): string | undefined {
    return kind === "given" ? undefined : whyMissing(kind);
  }

  async get(kind: ServerKind | "given"): Promise<BenchServer> {
    if (kind === "given") return { url: this.#given ?? "", pid: undefined, stop: () => Promise.resolve() };
    let server = this.#running.get(kind);
    if (server === undefined) this.#running.set(kind, (server = start(kind)));
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const servers = [...this.#running.values()];
    this.#running.clear();
    for (const server of servers) {
      // One that never started has been told of where it was asked for.
      const running = await server.catch(() => undefined);
      await running?.stop();
    }
  }
}
