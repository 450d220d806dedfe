/** The clients of a row: all connected, each with what it asks for, and what they did. */

import type { Ask, BenchClient, Cut, Driver, Held, Opened } from "../drivers/driver.ts";
import { zipf } from "../figures.ts";
import type { Scenario } from "../scenarios.ts";
import { Gate, monotonicNs } from "./gate.ts";
import type { Job } from "./job.ts";
import { Log, machineNs } from "./log.ts";
import { type Granted, Record } from "./record.ts";

/** Handshakes under way at a time: a burst of thousands would measure the kernel's backlog. */
const CONNECTING_MAX = 64;

export interface Taken {
  readonly held: Held;
  readonly granted: Granted;
}

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
  /** Rejects with it. */
  readonly failed: Promise<never>;
  /** Rises with everything that moves on. */
  steps = 0;
  readonly #fail: (error: Error) => void;
  readonly #shares: readonly number[];
  #asked = 0;

  constructor(job: Job, driver: Driver, opened: Opened) {
    const { clients, keys, shape } = job.scenario;
    this.job = job;
    this.driver = driver;
    this.opened = opened;
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.failed = promise;
    this.#fail = reject;
    // A soak would remember its first minutes for ever.
    const rememberedMax = shape === "soak" ? 0 : undefined;
    this.record = new Record(clients, keys === "own" || shape === "open", rememberedMax);
    this.log = job.isLogged === true ? new Log() : undefined;
    this.#shares = typeof keys === "number" ? zipf(keys, 1.1) : [];
  }

  get scenario(): Scenario {
    return this.job.scenario;
  }

  readonly broken = (error: Error): void => {
    this.error ??= error;
    this.#fail(error);
  };

  async connect(count: number = this.scenario.clients): Promise<void> {
    while (this.clients.length < count) {
      const from = this.clients.length;
      const batch = Array.from({ length: Math.min(CONNECTING_MAX, count - from) }, (_, i) =>
        this.opened.connect(from + i, this.broken),
      );
      this.clients.push(...(await Promise.all(batch)));
      this.steps += batch.length;
    }
  }

  /** In the place of one that was there, or as a new one at the end. */
  async reconnect(client: number): Promise<void> {
    this.clients[client] = await this.opened.connect(client, this.broken);
    this.steps += 1;
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

  /** Waits for a grant and writes it down. `wantedAtNs`: since when it should have been asked for, if not since now. */
  async take(client: number, key: string = this.keyOf(client), wantedAtNs?: number): Promise<Taken> {
    const ask = this.askOf(client);
    const askedAtNs = this.gate.nowNs();
    const askedAtMachineNs = this.log && machineNs();
    const number = this.#asked++;
    const sentAtNs = monotonicNs();
    const held = await (this.clients[client] as BenchClient).acquire(key, ask);
    const granted: Granted = {
      client,
      key,
      isShared: ask.mode === "shared",
      limit: ask.limit,
      ask: number,
      askedAtNs,
      wantedAtNs: wantedAtNs ?? askedAtNs,
      atNs: this.gate.nowNs(),
      ticket: held.ticket,
      fence: held.fence,
      sentAtNs,
      queuedAtNs: held.queuedAtNs,
      isTimed: this.gate.isOpen,
    };
    this.record.granted(granted);
    this.steps += 1;
    this.log?.granted(granted, askedAtMachineNs ?? 0);
    return { held, granted };
  }

  /** Writes down that another process holds the row's key, in the place of this client. */
  tookElsewhere(client: number): Granted {
    const atNs = this.gate.nowNs();
    const when = { ask: this.#asked++, askedAtNs: atNs, wantedAtNs: atNs, atNs, isTimed: false };
    const unknown = { limit: undefined, ticket: undefined, fence: undefined };
    const granted: Granted = { client, key: this.keyOf(client), isShared: false, ...when, ...unknown };
    this.record.granted(granted);
    return granted;
  }

  give({ held, granted }: Taken): Promise<void> {
    this.record.releasing(granted, this.gate.nowNs());
    this.log?.releasing(granted);
    return held.release();
  }

  /** Cuts the connection of one that holds. */
  crash({ granted }: Pick<Taken, "granted">, cut: Cut = "fin"): void {
    this.record.releasing(granted, this.gate.nowNs(), true);
    this.clients[granted.client]?.drop(cut);
  }
}
