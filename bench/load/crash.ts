/** Cycles on one key in which every third holder is cut, connects again, and goes on. */

import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../figures.ts";
import type { Crew } from "./crew.ts";
import { untilFree } from "../servers/view.ts";

const EVERY = 3;
/** For what is under way when a slice ends. */
const SETTLE_MS = 5;

export class Crashes {
  readonly #crew: Crew;
  readonly #cycles: readonly Promise<void>[];
  #isLast = false;
  #holders = 0;

  constructor(crew: Crew) {
    this.#crew = crew;
    this.#cycles = crew.clients.map((_client, index) => this.#cycle(index).catch(crew.broken));
  }

  /** Resolves with the median of the hand-offs by release, ns. */
  async turn(ms: number): Promise<number> {
    const { gate, record } = this.#crew;
    gate.open(ms);
    await sleep(ms);
    gate.close();
    await sleep(SETTLE_MS);
    return median(record.scores);
  }

  /** Everybody who waits has its turn, and nothing is left of those who were cut. */
  async end(): Promise<void> {
    const { gate, job } = this.#crew;
    this.#isLast = true;
    gate.open();
    await Promise.all(this.#cycles);
    gate.close();
    for (const key of job.target.keys) await untilFree(job.target.url, key);
  }

  async #cycle(client: number): Promise<void> {
    const crew = this.#crew;
    await crew.gate.pass();
    while (crew.error === undefined) {
      const taken = await crew.take(client);
      if (!crew.gate.isOpen) await crew.gate.pass();
      this.#holders += 1;
      if (this.#holders % EVERY === 0) {
        crew.crash(taken);
        await crew.reconnect(client);
      } else {
        await crew.give(taken);
      }
      if (this.#isLast) return;
    }
  }
}
