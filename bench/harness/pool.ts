/** Servers: each is started when it is first needed, and all are ended together. */

import { isBrief, type ServerKind, start, whyMissing } from "../servers/kinds.ts";
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

  /** A scenario is over: ends those that must not see the next one. */
  endScenario(): Promise<void> {
    return this.#stop(isBrief);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stop(() => true);
  }

  async #stop(isMeant: (kind: ServerKind) => boolean): Promise<void> {
    for (const [kind, server] of this.#running) {
      if (!isMeant(kind)) continue;
      this.#running.delete(kind);
      // One that never started has been told of where it was asked for.
      const running = await server.catch(() => undefined);
      await running?.stop();
    }
  }
}
