/**
 * An open loop: clients come when it is their time, whether or not the lock keeps up. A wait runs from the planned time, so
 * that whoever could not even ask because others were late is counted with all of its wait (no coordinated omission).
 */

import { setImmediate as turnOfLoop, setTimeout as sleep } from "node:timers/promises";
import type { Arrivals } from "../scenarios.ts";
import type { Crew } from "./crew.ts";
import { monotonicNs } from "./gate.ts";
import { schedule } from "./schedule.ts";
import { Times } from "./summary.ts";

/** A timer may be late by a millisecond and more: the last ones are spent awake. */
const AWAKE_NS = 3e6;

export class OpenLoop {
  /** From the planned time to the asking. */
  lateness: Times = new Times();
  readonly #crew: Crew;
  readonly #arrivals: Arrivals;
  readonly #idle: number[];
  readonly #late: number[] = [];

  constructor(crew: Crew, arrivals: Arrivals) {
    this.#crew = crew;
    this.#arrivals = arrivals;
    this.#idle = crew.clients.map((_client, index) => index);
  }

  /** Resolves with the time of a cycle of the closed loop, ns: what the waits are multiples of. */
  async turn(ms: number): Promise<number> {
    const { kind, rate } = this.#arrivals;
    const closed = await this.#closedLoop(ms / 2);
    await this.#openLoop(kind, "share" in rate ? closed * rate.share : rate.perSecond, ms);
    return 1e9 / closed;
  }

  /** How many cycles a second all clients do when each begins a new one right after the last. */
  async #closedLoop(ms: number): Promise<number> {
    const crew = this.#crew;
    const beganNs = monotonicNs();
    const untilNs = beganNs + ms * 1e6;
    let cycles = 0;
    const loops = crew.clients.map(async (_client, index) => {
      do {
        await crew.give(await crew.take(index));
        cycles += 1;
      } while (monotonicNs() < untilNs);
    });
    await Promise.all(loops);
    return (cycles * 1e9) / (monotonicNs() - beganNs);
  }

  async #openLoop(kind: Arrivals["kind"], perSecond: number, ms: number): Promise<void> {
    const { gate } = this.#crew;
    const cycles: Promise<void>[] = [];
    gate.open();
    const beganNs = gate.nowNs();
    for (const atNs of schedule(kind, perSecond, ms * 1e6)) {
      const plannedNs = beganNs + atNs;
      await this.#until(plannedNs);
      const client = this.#idle.pop();
      if (client === undefined) this.#late.push(plannedNs);
      else cycles.push(this.#serve(client, plannedNs));
    }
    // Who is behind belongs to it, however long it takes.
    await Promise.all(cycles);
    gate.close();
  }

  /** Awake, and with an ear for the sockets. */
  async #until(atNs: number): Promise<void> {
    const { gate } = this.#crew;
    for (;;) {
      const leftNs = atNs - gate.nowNs();
      if (leftNs <= 0) return;
      await (leftNs > AWAKE_NS ? sleep((leftNs - AWAKE_NS) / 1e6) : turnOfLoop());
    }
  }

  /** And then whoever came meanwhile and found nobody idle. */
  async #serve(client: number, plannedNs: number): Promise<void> {
    const crew = this.#crew;
    for (let next: number | undefined = plannedNs; next !== undefined; next = this.#late.shift()) {
      this.lateness.add(crew.gate.nowNs() - next);
      await crew.give(await crew.take(client, undefined, next));
    }
    this.#idle.push(client);
  }
}
