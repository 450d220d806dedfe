/** Who is measured, each with the way that it takes to Redis. */

import { type BenchClient, type Driver, type Opened } from "../drivers/driver.ts";
import { fleetProgram, fleetServers, upstashLock } from "../drivers/fleet.ts";
import { redisSemaphore, redlock4, redlock5 } from "../drivers/redis.ts";
import type { Site } from "./site.ts";
import type { Watch } from "./watch.ts";

export interface Contender {
  readonly name: string;
  readonly driver: Driver;
  readonly url: string;
}

export function overTcp({ redisUrl, serverUrls }: Site): readonly Contender[] {
  return [
    { name: "session on a server of the fleet", driver: fleetServers, url: serverUrls.slice(0, 2).join(" ") },
    { name: "fleet() in a program", driver: fleetProgram, url: redisUrl },
    { name: "redlock 5", driver: redlock5, url: redisUrl },
    { name: "redlock 4", driver: redlock4, url: redisUrl },
    { name: "redis-semaphore", driver: redisSemaphore, url: redisUrl },
  ];
}

export function overRest({ restUrl }: Site): readonly Contender[] {
  return [
    { name: "fleet() in a program", driver: fleetProgram, url: restUrl },
    { name: "@upstash/lock", driver: upstashLock, url: restUrl },
  ];
}

export interface Party {
  readonly clients: readonly BenchClient[];
  close(): Promise<void>;
}

/** A client that is broken ends the run: what it would have done cannot be told. */
export async function openParty({ name, driver, url }: Contender, size: number, watch?: Watch): Promise<Party> {
  const opened: Opened = await driver.open({ url, row: name, keys: [] });
  let isOver = false;
  const broken = (error: Error): void => {
    if (!isOver) throw new Error(`${name}: ${error.message}`, { cause: error });
  };
  const clients = await Promise.all(
    Array.from({ length: size }, async (_, index) => {
      const client = await opened.connect(index, broken);
      return watch?.over(client, `${name} ${index}`) ?? client;
    }),
  );
  return {
    clients,
    close: async () => {
      isOver = true;
      await Promise.all(clients.map((client) => client.close()));
      await opened.close();
    },
  };
}
