/**
 * A mixed load that leaves the cores time to rest: readers and a writer, a hot key, keys drawn by Zipf's law, holders that are
 * cut, HTTP callers, and leases that run out, each with somebody who waits for its end.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { driverOf } from "../drivers/all.ts";
import type { BenchClient, Opened } from "../drivers/driver.ts";
import type { Crew } from "./crew.ts";
import { monotonicNs } from "./gate.ts";
import type { SoakSlice } from "./job.ts";
import { untilEmpty } from "../servers/view.ts";
import { endOfLease } from "./lease.ts";
import { Times } from "./summary.ts";

interface Part {
  readonly clients: number;
  /** Undefined: drawn by Zipf's law. */
  readonly key: string | undefined;
  readonly holdMs: number;
  readonly cuts: boolean;
}

/** In the order of the clients. The first ones read: see the scenario. */
const PARTS: readonly Part[] = [
  { clients: 8, key: "document", holdMs: 10, cuts: false },
  { clients: 16, key: "hot", holdMs: 1, cuts: false },
  { clients: 16, key: undefined, holdMs: 20, cuts: false },
  { clients: 8, key: "fragile", holdMs: 1, cuts: true },
];
/** Pairs: the lease of one runs out while the other waits. They come after all parts. */
const LEASES = 8;
const LEASE_MS_MIN = 200;
const LEASE_MS_MAX = 2_000;
const CALLERS = 4;
const CALLER_PAUSE_MS = 100;
const CUT_EVERY = 3;
/** Between two looks at how late this process itself is. */
const TICK_MS = 20;

export class Soak {
  readonly #crew: Crew;
  readonly #http: Opened;
  readonly #loops: readonly Promise<void>[];
  #isOver = false;
  #holders = 0;
  readonly #calledBy = new Set<string>();
  #lateness = new Times();
  #ownLateness = new Times();
  #early = 0;
  #crashes = 0;
  #violations = 0;

  private constructor(crew: Crew, http: Opened, callers: readonly BenchClient[]) {
    this.#crew = crew;
    this.#http = http;
    const { row } = crew.job.target;
    let client = 0;
    const loops: Promise<void>[] = [];
    for (const part of PARTS) for (let i = 0; i < part.clients; i++) loops.push(this.#cycle(client++, part));
    for (let i = 0; i < LEASES; i++) loops.push(this.#leases(client++, client++, `${row}:lease${i}`));
    for (const [index, caller] of callers.entries()) loops.push(this.#call(caller, `${row}:call${index % 2}`));
    loops.push(this.#watchItself());
    this.#loops = loops.map((loop) => loop.catch(crew.broken));
  }

  static async start(crew: Crew): Promise<Soak> {
    const http = await (await driverOf("http")).open(crew.job.target);
    const callers = Array.from({ length: CALLERS }, (_, index) => http.connect(index, crew.broken));
    crew.gate.open();
    return new Soak(crew, http, await Promise.all(callers));
  }

  /** What happened since the last time. */
  slice(): SoakSlice {
    const { record } = this.#crew;
    const violations = record.violations - this.#violations;
    const late = { lateness: this.#lateness.summary(), ownLateness: this.#ownLateness.summary() };
    const slice = { ...late, early: this.#early, crashes: this.#crashes, violations };
    this.#lateness = new Times();
    this.#ownLateness = new Times();
    this.#early = 0;
    this.#crashes = 0;
    this.#violations = record.violations;
    return slice;
  }

  /** Everybody who waits has its turn, and then nothing may be left. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
    for (const client of this.#crew.clients) client.drop();
    await this.#http.close();
    await untilEmpty(this.#crew.job.target.url);
  }

  get #isOn(): boolean {
    return !this.#isOver && this.#crew.error === undefined;
  }

  async #cycle(client: number, { key, holdMs, cuts }: Part): Promise<void> {
    const crew = this.#crew;
    const name = key === undefined ? undefined : `${crew.job.target.row}:${key}`;
    while (this.#isOn) {
      const taken = await crew.take(client, name);
      await sleep(holdMs);
      if (cuts && ++this.#holders % CUT_EVERY === 0) {
        crew.crash(taken);
        this.#crashes += 1;
        await crew.reconnect(client);
      } else {
        await crew.give(taken);
      }
    }
  }

  async #leases(first: number, second: number, key: string): Promise<void> {
    const { clients } = this.#crew;
    while (this.#isOn) {
      const ttl = Math.round(LEASE_MS_MIN + Math.random() * (LEASE_MS_MAX - LEASE_MS_MIN));
      const askedAtNs = monotonicNs();
      await (clients[first] as BenchClient).acquire(key, { ttl });
      const heldAtNs = monotonicNs();
      const next = await (clients[second] as BenchClient).acquire(key, {});
      const { isEarly, lateNs } = endOfLease({ askedAtNs, heldAtNs, nextAtNs: monotonicNs(), ttlMs: ttl });
      if (isEarly) this.#early += 1;
      this.#lateness.add(lateNs);
      this.#crew.steps += 1;
      await next.release();
    }
  }

  async #call(caller: BenchClient, key: string): Promise<void> {
    while (this.#isOn) {
      const held = await caller.acquire(key, {});
      if (this.#calledBy.has(key)) this.#crew.record.violations += 1;
      this.#calledBy.add(key);
      this.#crew.steps += 1;
      this.#calledBy.delete(key);
      await held.release();
      await sleep(CALLER_PAUSE_MS);
    }
  }

  /** What of the lateness is this process's own, which has to be running to see anything. */
  async #watchItself(): Promise<void> {
    while (this.#isOn) {
      const dueAtNs = monotonicNs() + TICK_MS * 1e6;
      await sleep(TICK_MS);
      this.#ownLateness.add(monotonicNs() - dueAtNs);
    }
  }
}
