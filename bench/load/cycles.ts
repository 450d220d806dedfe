/** All clients take, hold and let go, over and over. Between slices whoever is granted holds on, and the queue stands. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Crew, Taken } from "./crew.ts";

/** For what is under way when a slice ends. */
const SETTLE_MS = 5;

export class Cycles {
  readonly #crew: Crew;
  readonly #cutEvery: number;
  readonly #cycles: readonly Promise<void>[];
  #isLast = false;
  #holders = 0;

  /** `cutEvery`: one holder in so many is cut, connects again, and goes on. */
  constructor(crew: Crew, cutEvery: number = Number.POSITIVE_INFINITY) {
    this.#crew = crew;
    this.#cutEvery = cutEvery;
    this.#cycles = crew.clients.map((_client, index) => this.#cycle(index).catch(crew.broken));
  }

  async turn(ms: number): Promise<void> {
    const { gate } = this.#crew;
    gate.open(ms);
    await sleep(ms);
    gate.close();
    await sleep(SETTLE_MS);
  }

  /** Resolves when everybody who waits has had its turn. */
  async end(): Promise<void> {
    const { gate } = this.#crew;
    this.#isLast = true;
    gate.open();
    await Promise.all(this.#cycles);
    gate.close();
  }

  async #cycle(client: number): Promise<void> {
    const { gate, scenario } = this.#crew;
    await gate.pass();
    while (this.#crew.error === undefined) {
      const taken = await this.#crew.take(client);
      if (!gate.isOpen) await gate.pass();
      if (scenario.holdMs > 0) {
        await sleep(scenario.holdMs);
        if (!gate.isOpen) await gate.pass();
      }
      await this.#letGo(taken);
      if (this.#isLast) return;
    }
  }

  async #letGo(taken: Taken): Promise<void> {
    this.#holders += 1;
    if (this.#holders % this.#cutEvery !== 0) return this.#crew.give(taken);
    this.#crew.crash(taken);
    await this.#crew.reconnect(taken.granted.client);
  }
}
