/** The floors: what is left of a hand-off, or of a question and its answer, when there is no lock in it. */

import { Mutex } from "async-mutex";
import { type BenchClient, type Capabilities, type Driver, type Held, nothing } from "./driver.ts";
import { BenchSocket } from "./socket.ts";

const bare: Capabilities = {
  shared: false,
  limit: false,
  drop: true,
  keys: false,
  quiet: true,
  ordered: true,
  clientsMax: 20_000,
};

/**
 * One text goes round through all sockets, and the server passes it on unread: to have it is to hold, to send it is to let go.
 * The sockets form a ring, in whatever order the server has seen them.
 */
export const relay: Driver = {
  name: "relay",
  can: bare,
  open: async ({ url, row, isLaidOut = false }) => {
    // The text comes into the world with whoever asks first.
    let isBorn = isLaidOut;
    return {
      connect: async (_index, broken) => {
        const socket = await BenchSocket.open(`${url}/relay?ring=${row}`, broken);
        let isHere = false;
        let wanted: (() => void) | undefined;
        socket.onText = () => {
          if (wanted === undefined) {
            isHere = true;
            return;
          }
          const grant = wanted;
          wanted = undefined;
          grant();
        };
        const held: Held = {
          release: async () => socket.send("token"),
        };
        return {
          acquire: async () => {
            if (isHere || !isBorn) {
              isBorn = true;
              isHere = false;
              return held;
            }
            await new Promise<void>((resolve) => {
              wanted = resolve;
            });
            return held;
          },
          drop: () => socket.drop(),
          close: () => socket.close(),
          get bytes() {
            return socket.bytes;
          },
        };
      },
      close: nothing,
    };
  },
};

/** A text there and back on one socket: the floor of an acquire that nobody else is in the way of. */
export const echo: Driver = {
  name: "echo",
  can: { ...bare, keys: true },
  open: async ({ url }) => ({
    connect: async (_index, broken) => {
      const socket = await BenchSocket.open(`${url}/echo`, broken);
      const held: Held = { release: nothing };
      return {
        acquire: () =>
          new Promise<Held>((resolve) => {
            socket.onText = () => resolve(held);
            socket.send("token");
          }),
        drop: () => socket.drop(),
        close: () => socket.close(),
        get bytes() {
          return socket.bytes;
        },
      };
    },
    close: nothing,
  }),
};

/** A queue of promises in the load generator itself: no server, no socket. */
export const mutex: Driver = {
  name: "mutex",
  can: { shared: false, limit: false, drop: false, keys: true, quiet: true, ordered: true, clientsMax: 20_000 },
  open: async () => {
    const mutexes = new Map<string, Mutex>();
    const client: BenchClient = {
      acquire: async (key) => {
        let found = mutexes.get(key);
        if (found === undefined) mutexes.set(key, (found = new Mutex()));
        const release = await found.acquire();
        return { release: async () => release() };
      },
      drop: () => undefined,
      close: nothing,
    };
    return { connect: async () => client, close: nothing };
  },
};
