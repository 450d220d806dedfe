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
        };
      },
      close: nothing,
    };
  },
};

/**
 * The relay with all that a lock has to say, and without the lock: whoever lets go sends what our frames are, the next one gets a grant, and
 * the sender its acknowledgement, in texts that the server has ready. What Latchkey costs more than this is its work; what this costs
 * more than the relay is the acknowledgement, the longer texts, and to read them.
 */
export const handOver: Driver = {
  name: "hand-over",
  can: { ...bare, drop: false },
  open: async ({ url, row, isLaidOut = false }) => {
    let isBorn = isLaidOut;
    return {
      connect: async (_index, broken) => {
        const socket = await BenchSocket.open(`${url}/relay?ring=${row}&answered`, broken);
        const client = new HandedOver(socket);
        return {
          acquire: (key) => {
            if (isBorn) return client.acquire(key);
            isBorn = true;
            return Promise.resolve(client.held(key));
          },
          drop: () => socket.drop(),
          close: () => socket.close(),
        };
      },
      close: nothing,
    };
  },
};

class HandedOver {
  readonly #socket: BenchSocket;
  readonly #granted: ((held: Held) => void)[] = [];
  readonly #released: (() => void)[] = [];
  #lastId = 0;
  #key = "";
  /** Handed over before it was asked for. */
  #isEarly = false;

  constructor(socket: BenchSocket) {
    this.#socket = socket;
    socket.onText = (text) => this.#heard(text);
  }

  acquire(key: string): Promise<Held> {
    this.#key = key;
    if (this.#isEarly) {
      this.#isEarly = false;
      return Promise.resolve(this.held(key));
    }
    return new Promise((resolve) => {
      this.#granted.push(resolve);
      this.#socket.sendFrame(JSON.stringify({ t: "acquire", id: `a${++this.#lastId}`, key }));
    });
  }

  held(key: string, token: string = ""): Held {
    const release = (): Promise<void> =>
      new Promise((resolve) => {
        this.#released.push(resolve);
        this.#socket.sendFrame(JSON.stringify({ t: "release", id: `r${++this.#lastId}`, key, token }));
      });
    return { release };
  }

  #heard(text: string): void {
    const message = JSON.parse(text) as { readonly token: string } | readonly { readonly t: string }[];
    if (Array.isArray(message)) {
      this.#released.shift()?.();
      return;
    }
    const { token } = message as { readonly token: string };
    const grant = this.#granted.shift();
    if (grant === undefined) this.#isEarly = true;
    else grant(this.held(this.#key, token));
  }
}

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
