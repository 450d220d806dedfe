/** A fleet: sessions on several servers, and programs that take part by themselves; beside what Upstash's users have. */

import { Lock } from "@upstash/lock";
import { Redis } from "@upstash/redis";
import { fleet, type FleetOptions } from "../../src/embedded-fleet.ts";
import { type BenchClient, type Capabilities, type Driver, nothing } from "./driver.ts";
import { latchkeyRaw } from "./latchkey-raw.ts";

/** Where a stand-in for Upstash asks for nothing else. */
export const REST_TOKEN = "test-token";

const TTL_MS = 60_000;
const WAIT_MAX_MS = 600_000;
const TRIES_MAX = 1_000_000;

const can: Capabilities = {
  shared: true,
  limit: true,
  drop: false,
  keys: true,
  quiet: true,
  ordered: false,
  clientsMax: 1024,
};

/** Each client is a program of its own, as far as Redis knows. `redis://…`, or the address of a REST interface. */
export const fleetProgram: Driver = {
  name: "fleet-program",
  can,
  open: async ({ url }) => ({
    connect: async (_index, broken) => {
      const redis: FleetOptions["redis"] = url.startsWith("redis") ? url : { url, token: REST_TOKEN };
      const locks = fleet({ redis, onError: (error) => broken(error as Error) });
      return {
        acquire: (key, ask) => locks.acquire(key, { ...ask, ttl: TTL_MS, timeout: WAIT_MAX_MS }),
        drop: () => undefined,
        close: () => locks.close(),
      };
    },
    close: nothing,
  }),
};

/** The URLs of servers, with spaces between them: clients go round. */
export const fleetServers: Driver = {
  name: "fleet-servers",
  can: { ...can, drop: true, ordered: true },
  open: async (target) => {
    const urls = target.url.split(" ");
    const servers = await Promise.all(urls.map((url) => latchkeyRaw.open({ ...target, url })));
    return {
      connect: (index, broken) => servers[index % servers.length]!.connect(index, broken),
      close: nothing,
    };
  },
};

/** It polls; its own pauses are left as they come. */
export const upstashLock: Driver = {
  name: "upstash-lock",
  can: { ...can, shared: false, limit: false, quiet: false, clientsMax: 128 },
  open: async ({ url }) => ({
    connect: async (): Promise<BenchClient> => {
      const redis = new Redis({ url, token: REST_TOKEN });
      return {
        acquire: async (id) => {
          // By default it gives up after 3 tries. Its types are those of a CommonJS program, with a class of their own.
          const lock = new Lock({
            id,
            redis: redis as never,
            lease: TTL_MS,
            retry: { attempts: TRIES_MAX, delay: 100 },
          });
          await lock.acquire();
          return { release: async () => void (await lock.release()) };
        },
        drop: () => undefined,
        close: nothing,
      };
    },
    close: nothing,
  }),
};
