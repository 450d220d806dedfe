/** A Redis Cluster of three masters, as `redis-cli --cluster create` makes it. */

import { vi } from "vitest";
import { Child } from "../../conformance/child.ts";
import { DURABLE, freePort, Redis } from "./redis.ts";

const MASTERS = 3;

export class Cluster implements AsyncDisposable {
  readonly masters: readonly Redis[];

  private constructor(masters: readonly Redis[]) {
    this.masters = masters;
  }

  /** Resolves when every slot has its master and every master knows that. */
  static async start(): Promise<Cluster> {
    const masters: Redis[] = [];
    const cluster = new Cluster(masters);
    try {
      for (let count = 0; count < MASTERS; count++) {
        const bus = [
          "--cluster-enabled",
          "yes",
          "--cluster-node-timeout",
          "2000",
          "--cluster-port",
          `${await freePort()}`,
        ];
        masters.push(await Redis.start({ args: [...DURABLE, ...bus] }));
      }
      const addresses = masters.map(({ port }) => `127.0.0.1:${port}`);
      await using creating = new Child(["redis-cli", "--cluster", "create", ...addresses, "--cluster-yes"]);
      const { code } = await creating.ended;
      if (code !== 0) throw new Error(`no cluster: ${creating.output}`);
      await cluster.ready();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Resolves when all are in agreement; a master that comes back takes no writes for its first two seconds. */
  async ready(): Promise<void> {
    await vi.waitFor(() => this.#demandOk(), { timeout: 10_000 });
  }

  /** The names of everything that a master has. */
  async keys(master: Redis): Promise<readonly string[]> {
    return (await master.ask("KEYS", "*")) as string[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.masters.map((master) => master[Symbol.asyncDispose]()));
  }

  async #demandOk(): Promise<void> {
    for (const master of this.masters) {
      const state = String(await master.ask("CLUSTER", "INFO"));
      if (!state.includes("cluster_state:ok")) throw new Error(state);
    }
  }
}
