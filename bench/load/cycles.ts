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
    const { gate, record } = this.#crew;
    this.#isLast = true;
    record.end();
    gate.open();
    await Promise.all(this.#cycles);
    gate.close();
  }

  async #cycle(client: number): Promise<void> {
    const { gate, scenario, driver } = this.#crew;
    await gate.pass();
    let taken = await this.#crew.take(client);
    while (this.#crew.error === undefined) {
      if (!gate.isOpen) await gate.pass();
      if (scenario.holdMs > 0) {
        await sleep(scenario.holdMs);
        if (!gate.isOpen) await gate.pass();
      }
      this.#holders += 1;
      const isCut = this.#holders % this.#cutEvery === 0;
      const going = isCut ? this.#cut(taken) : this.#crew.give(taken);
      if (this.#isLast) return going;
      // Whoever can let go and queue again in one go does so; the others hear first that the one is done.
      if (isCut || !driver.can.ordered) await going;
      [taken] = await Promise.all([this.#crew.take(client), going]);
    }
  }

  async #cut(taken: Taken): Promise<void> {
    this.#crew.crash(taken);
    await this.#crew.reconnect(taken.granted.client);
  }
}
