/** Locks over Redis: a list as a queue, which is the fastest that Redis can do, and the libraries that people use. */

import { Redis } from "ioredis";
import { createClient } from "redis";
import { Mutex } from "redis-semaphore";
import Redlock4 from "redlock4";
import Redlock5 from "redlock";
import { type Capabilities, type Driver, nothing } from "./driver.ts";

const can: Capabilities = {
  shared: false,
  limit: false,
  drop: false,
  keys: true,
  quiet: true,
  ordered: true,
  clientsMax: 1024,
};

/** The libraries poll. Their own pauses are left as they come. */
const polls: Capabilities = { ...can, quiet: false, ordered: false, clientsMax: 128 };

/** Longer than any row takes, in which a holder waits for its next turn. */
const TTL_MS = 3_600_000;
const TRIES_MAX = 1_000_000;

/** One element in a list is the lock: BLPOP takes it, first come first served, RPUSH gives it back. Nothing saves it from a crash. */
export const redisList: Driver = {
  name: "redis-list",
  can,
  open: async ({ url, keys, isLaidOut = false }) => {
    const first = await createClient({ url }).connect();
    if (!isLaidOut) for (const key of keys) await first.rPush(key, "lock");
    await first.close();
    return {
      connect: async (_index, broken) => {
        const client = createClient({ url, socket: { reconnectStrategy: false } });
        client.on("error", broken);
        await client.connect();
        return {
          acquire: async (key) => {
            await client.blPop(key, 0);
            return { release: async () => void (await client.rPush(key, "lock")) };
          },
          drop: () => client.destroy(),
          close: () => client.close(),
        };
      },
      close: nothing,
    };
  },
};

export const redisSemaphore: Driver = {
  name: "redis-semaphore",
  can: polls,
  open: async ({ url }) => ({
    connect: async (_index, broken) => {
      const client = await connected(url, broken);
      return {
        acquire: async (key) => {
          const lock = new Mutex(client, key, { lockTimeout: TTL_MS, acquireTimeout: TRIES_MAX });
          await lock.acquire();
          return { release: () => lock.release() };
        },
        drop: () => client.disconnect(),
        close: async () => void (await client.quit()),
      };
    },
    close: nothing,
  }),
};

export const redlock5: Driver = {
  name: "redlock5",
  can: polls,
  open: async ({ url }) => ({
    connect: async (_index, broken) => {
      const client = await connected(url, broken);
      const redlock = new Redlock5([client], { retryCount: TRIES_MAX });
      return {
        acquire: async (key) => {
          const lock = await redlock.acquire([key], TTL_MS);
          return { release: async () => void (await lock.release()) };
        },
        drop: () => client.disconnect(),
        close: async () => void (await client.quit()),
      };
    },
    close: nothing,
  }),
};

export const redlock4: Driver = {
  name: "redlock4",
  can: polls,
  open: async ({ url }) => ({
    connect: async (_index, broken) => {
      const client = await connected(url, broken);
      const redlock = new Redlock4([client], { retryCount: TRIES_MAX });
      return {
        acquire: async (key) => {
          const lock = await redlock.lock(key, TTL_MS);
          return { release: async () => void (await lock.unlock()) };
        },
        drop: () => client.disconnect(),
        close: async () => void (await client.quit()),
      };
    },
    close: nothing,
  }),
};

async function connected(url: string, broken: (error: Error) => void): Promise<Redis> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  client.on("error", broken);
  await client.connect();
  return client;
}
