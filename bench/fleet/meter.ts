/** What a Redis has done meanwhile, as it counts itself. */

import { createClient } from "redis";

export interface Spent {
  readonly wallMs: number;
  /** Of the thread that does everything, reading and writing of sockets included. */
  readonly redisMs: number;
  /** How often it read from a socket: what a client sends in one go is one round trip. */
  readonly roundTrips: number;
  readonly scripts: number;
  /** In scripts alone, ms. On a busy machine this counts the time of others as well. */
  readonly scriptMs: number;
}

interface Counts extends Omit<Spent, "wallMs"> {
  readonly memoryBytes: number;
}

/** Of a client of the package `redis`. */
interface Asked {
  readonly info: (section: string) => Promise<string>;
  readonly destroy: () => void;
}

export class Meter {
  readonly #client: Asked;

  private constructor(client: Asked) {
    this.#client = client;
  }

  static async open(url: string): Promise<Meter> {
    const client = createClient({ url });
    client.on("error", () => undefined);
    await client.connect();
    return new Meter({ info: (section) => client.info(section), destroy: () => client.destroy() });
  }

  async spent(work: () => Promise<unknown>): Promise<Spent> {
    const before = await this.#counts();
    const begun = performance.now();
    await work();
    const wallMs = performance.now() - begun;
    const after = await this.#counts();
    return {
      wallMs,
      redisMs: after.redisMs - before.redisMs,
      // The second look was a round trip as well.
      roundTrips: after.roundTrips - before.roundTrips - 1,
      scripts: after.scripts - before.scripts,
      scriptMs: after.scriptMs - before.scriptMs,
    };
  }

  async memoryBytes(): Promise<number> {
    return (await this.#counts()).memoryBytes;
  }

  async version(): Promise<string> {
    return /^redis_version:(\S+)/m.exec(await this.#client.info("server"))?.[1] ?? "unknown";
  }

  close(): void {
    this.#client.destroy();
  }

  async #counts(): Promise<Counts> {
    const text = await this.#client.info("all");
    const field = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(text)?.[1]);
    const scripts = [...text.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+),usec=(\d+)/gm)];
    const sum = (group: 1 | 2): number => scripts.reduce((total, found) => total + Number(found[group]), 0);
    return {
      redisMs: 1000 * (field("used_cpu_sys_main_thread") + field("used_cpu_user_main_thread")),
      roundTrips: field("total_reads_processed"),
      scripts: sum(1),
      scriptMs: sum(2) / 1000,
      memoryBytes: field("used_memory"),
    };
  }
}
