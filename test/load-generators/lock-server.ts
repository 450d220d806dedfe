/** A lock server of a page, with one fault on purpose: what a benchmark must not take for a fast one. */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type { Scenario } from "../../bench/scenarios.ts";
import type { BenchServer } from "../../bench/servers/server.ts";

export type Fault =
  | "none"
  /** Two may hold what one may hold. */
  | "two at once"
  | "last come first served"
  /** Whoever lets go and asks in one message has the key again, whoever waits. */
  | "own lock again"
  | "the same fence for all"
  | "closes a socket"
  | "hangs up at hello"
  | "takes a lock away"
  | "answers an error";

/** What shows most of them. */
export const HOT: Scenario = {
  name: "hot",
  shape: "cycles",
  clients: 8,
  keys: "hot",
  holdMs: 0,
  readers: 0,
  limit: undefined,
  floor: "relay",
};

interface Waiter {
  readonly socket: WebSocket;
  readonly id: string;
}

interface Frame {
  readonly t: string;
  readonly id: string;
  readonly key: string;
}

/** Grants after which a fault shows that comes once: fewer than a row of a few clients has on the slowest machine. */
const GRANTS_BEFORE = 4;

export interface LockServer extends BenchServer {
  /** Ends one of the connections. */
  closeOne(): void;
}

export async function lockServer(fault: Fault): Promise<LockServer> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, handleProtocols: () => "latchkey.v1" });
  await once(server, "listening");
  const keys = new Map<string, Key>();
  let grants = 0;
  let tickets = 0;
  const grant = (key: string, { socket, id }: Waiter): void => {
    grants += 1;
    tell(socket, { t: "granted", id, key, token: "token", fence: fault === "the same fence for all" ? 1 : grants });
    if (grants !== GRANTS_BEFORE) return;
    if (fault === "closes a socket") socket.close(1011);
    if (fault === "takes a lock away") tell(socket, { t: "lost", key, reason: "revoked" });
    if (fault === "answers an error") tell(socket, { t: "refused", id: "any", code: "limit" });
  };
  const keyOf = (name: string): Key => {
    const key = keys.get(name) ?? new Key(fault, (waiter) => grant(name, waiter));
    keys.set(name, key);
    return key;
  };
  const serve = (socket: WebSocket, { t, id, key }: Frame): void => {
    if (t === "hello" && fault === "hangs up at hello") socket.close(4500);
    else if (t === "hello") tell(socket, { t: "welcome" });
    else if (t === "release") {
      keyOf(key).release();
      tell(socket, { t: "released", id });
    } else if (!keyOf(key).ask({ socket, id })) tell(socket, { t: "queued", id, ticket: ++tickets, position: 1 });
  };
  server.on("connection", (socket) => {
    socket.on("message", (text: Buffer) => {
      const frames = [JSON.parse(text.toString()) as Frame | Frame[]].flat();
      for (const frame of frames) serve(socket, frame);
      for (const key of keys.values()) key.grantOn();
    });
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}`,
    pid: undefined,
    closeOne: () => [...server.clients][0]?.close(1011),
    stop: async () => {
      for (const socket of server.clients) socket.terminate();
      server.close();
    },
  };
}

class Key {
  readonly #fault: Fault;
  readonly #grant: (waiter: Waiter) => void;
  readonly #waiters: Waiter[] = [];
  #holders = 0;

  constructor(fault: Fault, grant: (waiter: Waiter) => void) {
    this.#fault = fault;
    this.#grant = grant;
  }

  /** Whether it was granted at once. */
  ask(waiter: Waiter): boolean {
    if (this.#isFull || (this.#waiters.length > 0 && this.#fault !== "own lock again")) {
      this.#waiters.push(waiter);
      return false;
    }
    this.#holders += 1;
    this.#grant(waiter);
    return true;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#fault !== "own lock again") this.grantOn();
  }

  grantOn(): void {
    while (!this.#isFull) {
      const next = this.#fault === "last come first served" ? this.#waiters.pop() : this.#waiters.shift();
      if (next === undefined) return;
      this.#holders += 1;
      this.#grant(next);
    }
  }

  get #isFull(): boolean {
    return this.#holders >= (this.#fault === "two at once" ? 2 : 1);
  }
}

function tell(socket: WebSocket, frame: object): void {
  socket.send(JSON.stringify(frame));
}
