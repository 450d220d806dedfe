/** Latchkey through its own clients: over a WebSocket, over HTTP, polled over HTTP, and in the same process. */

import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { type Client, connect, type Lock, type WebSocketConstructor } from "../../src/client/index.ts";
import { httpClient } from "../../src/client/http.ts";
import type { Embedded } from "../../src/latchkey.ts";
import { Calls } from "./calls.ts";
import { type BenchClient, type Capabilities, type Driver, type Held, nothing } from "./driver.ts";

const can: Capabilities = {
  shared: true,
  limit: true,
  drop: false,
  keys: true,
  quiet: true,
  ordered: true,
  clientsMax: 20_000,
};

/** HTTP locks live by their lease alone: longer than any row takes, in which a holder waits for its next turn. */
const TTL_MS = 3_600_000;
const WAIT_MAX_MS = 600_000;

/** A poller's pause, ms; each one is a little different, lest all come at once. */
const POLL_MS = 10;

export const latchkeySocket: Driver = {
  name: "ws",
  can,
  open: async ({ url }) => ({
    connect: async (_index, broken) => {
      let isOver = false;
      const client = connect(url, {
        // The same sockets as under all other drivers, so that only what is above them differs.
        WebSocket: WebSocket as unknown as WebSocketConstructor,
        onStatus: (status) => {
          if (status === "connecting" || isOver) return;
          if (status !== "connected") broken(new Error(`the client is ${status}`));
        },
      });
      await client.ready;
      return {
        ...ofLocks(client),
        close: () => {
          isOver = true;
          return client.close();
        },
      };
    },
    close: nothing,
  }),
};

export const latchkeyHttp: Driver = {
  name: "http",
  can: { ...can, ordered: false, clientsMax: 128 },
  open: async ({ url }) => ({
    connect: async () => {
      const locks = httpClient(url);
      return {
        acquire: async (key, ask) => heldBy(await locks.acquire(key, { ...ask, ttl: TTL_MS, timeout: WAIT_MAX_MS })),
        drop: () => undefined,
        close: nothing,
      };
    },
    close: nothing,
  }),
};

/** What a program does that knows no queue: ask, wait a little, ask again. The client gives up on an answer after 10 s. */
export const polling: Driver = {
  name: "polling",
  can: { ...can, quiet: false, ordered: false, clientsMax: 128 },
  open: async ({ url }) => {
    const calls = new Calls();
    return {
      connect: async () => {
        const locks = httpClient(url);
        return {
          acquire: async (key, ask) => {
            for (;;) {
              const lock = await calls.run(() => locks.tryAcquire(key, { ...ask, ttl: TTL_MS }));
              if (lock !== null) return { release: () => calls.run(() => lock.release()) };
              await sleep(POLL_MS * (0.5 + Math.random()));
            }
          },
          drop: () => undefined,
          close: nothing,
        };
      },
      rest: () => calls.rest(),
      wake: () => calls.wake(),
      close: nothing,
    };
  },
};

/** On whatever runtime runs the load generator. */
export const latchkeyInProcess: Driver = {
  name: "in-process",
  can,
  open: async () => {
    const latchkey = await embedded();
    return {
      connect: async () => {
        const client = latchkey.connect();
        await client.ready;
        return { ...ofLocks(client), close: () => client.close() };
      },
      close: () => latchkey.close(),
    };
  },
};

/** Each runtime's own way in, since none can load another's SQLite. */
async function embedded(): Promise<Pick<Embedded, "connect" | "close">> {
  if ("Bun" in globalThis) return (await import("../../runtimes/bun.ts")).createLatchkey();
  if ("Deno" in globalThis) return (await import("../../runtimes/deno.ts")).createLatchkey();
  return (await import("../../runtimes/node.ts")).createLatchkey();
}

function ofLocks(client: Client): Pick<BenchClient, "acquire" | "drop"> {
  return {
    acquire: async (key, ask) => heldBy(await client.acquire(key, ask)),
    drop: () => undefined,
  };
}

function heldBy(lock: Lock): Held {
  return { release: () => lock.release() };
}
