/** The clients of a row: all connected, each with what it asks for, and what they did. */

import type { Ask, BenchClient, Driver, Held, Opened } from "../drivers/driver.ts";
import { zipf } from "../figures.ts";
import type { Scenario } from "../scenarios.ts";
import { Gate } from "./gate.ts";
import type { Job } from "./job.ts";
import { Log, machineNs } from "./log.ts";
import { type Granted, Record } from "./record.ts";

/** Handshakes under way at a time: a burst of thousands would measure the kernel's backlog. */
const CONNECTING_MAX = 64;

export class Crew {
  readonly gate: Gate = new Gate();
  readonly record: Record;
  readonly log: Log | undefined;
  readonly job: Job;
  readonly driver: Driver;
  readonly clients: BenchClient[] = [];
  readonly opened: Opened;
  /** The first thing that went wrong: it makes the row invalid. */
  error: Error | undefined;
  readonly #shares: readonly number[];
  #asked = 0;

  constructor(job: Job, driver: Driver, opened: Opened) {
    const { clients, keys } = job.scenario;
    this.job = job;
    this.driver = driver;
    this.opened = opened;
    this.record = new Record(clients, keys === "own");
    this.log = job.isLogged === true ? new Log() : undefined;
    this.#shares = typeof keys === "number" ? zipf(keys, 1.1) : [];
  }

  get scenario(): Scenario {
    return this.job.scenario;
  }

  readonly broken = (error: Error): void => {
    this.error ??= error;
  };

  /** In order, as far as it matters: the relay's ring is the order of opening. */
  async connect(count: number = this.scenario.clients): Promise<void> {
    const isOrdered = !this.driver.can.keys;
    const atOnce = isOrdered ? 1 : CONNECTING_MAX;
    while (this.clients.length < count) {
      const from = this.clients.length;
      const batch = Array.from({ length: Math.min(atOnce, count - from) }, (_, i) =>
        this.opened.connect(from + i, this.broken),
      );
      this.clients.push(...(await Promise.all(batch)));
    }
  }

  keyOf(client: number): string {
    const { keys } = this.job.target;
    if (this.scenario.keys === "own") return keys[client] ?? "";
    if (this.scenario.keys === "hot") return keys[0] ?? "";
    const drawn = Math.random();
    const rank = this.#shares.findIndex((share) => drawn <= share);
    return keys[Math.max(0, rank)] ?? "";
  }

  askOf(client: number): Ask {
    const { readers, limit } = this.scenario;
    if (client >= readers) return {};
    return limit === undefined ? { mode: "shared" } : { mode: "shared", limit };
  }

  /** Waits for a grant and writes it down. */
  async take(
    client: number,
    key: string = this.keyOf(client),
  ): Promise<{ readonly held: Held; readonly granted: Granted }> {
    const ask = this.askOf(client);
    const askedAtNs = this.gate.nowNs();
    const askedAtMachineNs = this.log && machineNs();
    const number = this.#asked++;
    const held = await (this.clients[client] as BenchClient).acquire(key, ask);
    const granted: Granted = {
      client,
      key,
      isShared: ask.mode === "shared",
      limit: ask.limit,
      ask: number,
      askedAtNs,
      atNs: this.gate.nowNs(),
      ticket: held.ticket,
      fence: held.fence,
      isTimed: this.gate.isOpen,
    };
    this.record.granted(granted);
    this.log?.granted(granted, askedAtMachineNs ?? 0);
    return { held, granted };
  }

  give({ held, granted }: { readonly held: Held; readonly granted: Granted }): Promise<void> {
    this.record.releasing(granted, this.gate.nowNs());
    this.log?.releasing(granted);
    return held.release();
  }
}
