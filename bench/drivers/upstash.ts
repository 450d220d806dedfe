/** @upstash/lock over REST: it tries, waits 100 ms and tries again. */

import { Lock } from "@upstash/lock";
import { Redis } from "@upstash/redis";
import { type Driver, nothing } from "./driver.ts";

/** Longer than any row takes, in which a holder waits for its next turn. */
const LEASE_MS = 3_600_000;
/** Its own pause, which must be said where the tries are. */
const RETRY = { attempts: 1_000_000, delay: 100 };

type LockRedis = ConstructorParameters<typeof Lock>[0]["redis"];

export const upstashLock: Driver = {
  name: "upstash-lock",
  can: { shared: false, limit: false, drop: false, keys: true, quiet: false, ordered: false, clientsMax: 128 },
  open: async ({ url }) => ({
    // A client of its own for each, but connections are fetch's: as many as there are requests under way.
    connect: async () => {
      const { origin, password } = new URL(url);
      // The types that it wants are those of the CommonJS half of the same package.
      const redis = new Redis({ url: origin, token: password, enableTelemetry: false }) as unknown as LockRedis;
      return {
        acquire: async (key) => {
          const lock = new Lock({ id: key, redis, lease: LEASE_MS, retry: RETRY });
          if (!(await lock.acquire())) throw new Error(`${key} was not acquired`);
          return {
            release: async () => {
              if (!(await lock.release())) throw new Error(`${key} was not held`);
            },
          };
        },
        drop: () => undefined,
        close: nothing,
      };
    },
    close: nothing,
  }),
};
