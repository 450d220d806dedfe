/** A key with a line of waiters that stays as long as it is: whoever had its turn stands at the end again. */

import { setTimeout as passed } from "node:timers/promises";
import type { BenchClient, Held } from "../drivers/driver.ts";

export class Line {
  readonly #clients: readonly BenchClient[];
  readonly #key: string;
  readonly #waitingNow: () => Promise<number>;
  readonly #line: { readonly client: BenchClient; readonly granted: Promise<Held> }[] = [];
  #holder: { readonly client: BenchClient; readonly held: Held } | undefined;

  /** The clients take turns, so that every hand-off goes from one to another. `waitingNow` asks the service. */
  constructor(clients: readonly BenchClient[], key: string, waitingNow: () => Promise<number>) {
    this.#clients = clients;
    this.#key = key;
    this.#waitingNow = waitingNow;
  }

  async form(length: number): Promise<void> {
    const client = this.#clients[0]!;
    this.#holder = { client, held: await client.acquire(this.#key, {}) };
    for (let i = 1; i <= length; i++) {
      this.#join(this.#clients[i % this.#clients.length]!);
      await this.#settled();
    }
  }

  /** From the call of release to the moment when the next one holds, µs. The line is as long as before when this resolves. */
  async handOff(): Promise<number> {
    const { client, held } = this.#holder!;
    const next = this.#line.shift()!;
    const begun = performance.now();
    const released = held.release();
    this.#holder = { client: next.client, held: await next.granted };
    const micros = (performance.now() - begun) * 1000;
    await released;
    this.#join(client);
    await this.#settled();
    return micros;
  }

  /** So many in a row, without a look at the line in between. */
  async handOffs(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const { client, held } = this.#holder!;
      const next = this.#line.shift()!;
      this.#join(client);
      const released = held.release();
      this.#holder = { client: next.client, held: await next.granted };
      await released;
    }
  }

  async leave(): Promise<void> {
    while (this.#holder !== undefined) {
      await this.#holder.held.release();
      const next = this.#line.shift();
      this.#holder = next && { client: next.client, held: await next.granted };
    }
  }

  #join(client: BenchClient): void {
    const granted = client.acquire(this.#key, {});
    // Whoever is in line when its client is closed is sent away, and nobody asks for it any more.
    granted.catch(() => undefined);
    this.#line.push({ client, granted });
  }

  async #settled(): Promise<void> {
    while ((await this.#waitingNow()) < this.#line.length) await passed(1);
  }
}
