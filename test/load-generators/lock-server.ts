/** A lock server of a page, with one fault on purpose: what a benchmark must not take for a fast one. */

import { once } from "node:events";
import { createServer } from "node:http";
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
  | "answers an error"
  | "counts sessions that have gone"
  /** Until `acknowledge` is called. */
  | "keeps acknowledgements back";

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

/** A claim: it waits, and then holds. */
interface Claim {
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
  /** Answers the releases so far. */
  acknowledge(): void;
}

export async function lockServer(fault: Fault): Promise<LockServer> {
  const locks = new Locks(fault);
  const http = createServer((request, response) => response.end(locks.told(request.url ?? "")));
  const sockets = new WebSocketServer({ server: http, handleProtocols: () => "latchkey.v1" });
  sockets.on("connection", (socket) => {
    locks.opened();
    socket.on("message", (text: Buffer) => locks.heard(socket, text.toString()));
    socket.on("close", () => locks.closed(socket));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}`,
    pid: undefined,
    acknowledge: () => locks.acknowledge(),
    closeOne: () => [...sockets.clients][0]?.close(1011),
    stop: async () => {
      for (const socket of sockets.clients) socket.terminate();
      http.close();
    },
  };
}

class Locks {
  readonly #fault: Fault;
  readonly #keys = new Map<string, Key>();
  readonly #unanswered: (() => void)[] = [];
  #sessions = 0;
  #grants = 0;
  #tickets = 0;

  constructor(fault: Fault) {
    this.#fault = fault;
  }

  opened(): void {
    this.#sessions += 1;
  }

  heard(socket: WebSocket, text: string): void {
    for (const frame of [JSON.parse(text) as Frame | Frame[]].flat()) this.#serve(socket, frame);
    for (const key of this.#keys.values()) key.grantOn();
  }

  acknowledge(): void {
    for (const answer of this.#unanswered.splice(0)) answer();
  }

  closed(socket: WebSocket): void {
    if (this.#fault !== "counts sessions that have gone") this.#sessions -= 1;
    for (const key of this.#keys.values()) key.dropped(socket);
  }

  /** Of the whole server, or of one key. */
  told(path: string): string {
    if (path !== "/metrics") {
      const key = this.#keys.get(decodeURIComponent(path.slice(path.lastIndexOf("/") + 1)));
      return JSON.stringify({ status: (key?.holding ?? 0) > 0 ? "held" : "free", waiting: key?.waiting ?? 0 });
    }
    const keys = [...this.#keys.values()].filter(({ holding }) => holding > 0);
    const sum = (of: (key: Key) => number): number => keys.reduce((total, key) => total + of(key), 0);
    const holding = sum((key) => key.holding);
    const gauges = { sessions: this.#sessions, keys: keys.length, holding, waiting: sum((key) => key.waiting) };
    return Object.entries(gauges)
      .map(([name, value]) => `latchkey_${name} ${value}\n`)
      .join("");
  }

  #serve(socket: WebSocket, { t, id, key }: Frame): void {
    if (t === "hello" && this.#fault === "hangs up at hello") socket.close(4500);
    else if (t === "hello") tell(socket, { t: "welcome" });
    else if (t === "release") {
      this.#keyOf(key).release(socket);
      const answer = (): void => tell(socket, { t: "released", id });
      if (this.#fault === "keeps acknowledgements back") this.#unanswered.push(answer);
      else answer();
    } else if (!this.#keyOf(key).ask({ socket, id })) {
      tell(socket, { t: "queued", id, ticket: ++this.#tickets, position: 1 });
    }
  }

  #keyOf(name: string): Key {
    const key = this.#keys.get(name) ?? new Key(this.#fault, (claim) => this.#grant(name, claim));
    this.#keys.set(name, key);
    return key;
  }

  #grant(key: string, { socket, id }: Claim): void {
    this.#grants += 1;
    const fence = this.#fault === "the same fence for all" ? 1 : this.#grants;
    tell(socket, { t: "granted", id, key, token: "token", fence });
    if (this.#grants !== GRANTS_BEFORE) return;
    if (this.#fault === "closes a socket") socket.close(1011);
    if (this.#fault === "takes a lock away") tell(socket, { t: "lost", key, reason: "revoked" });
    if (this.#fault === "answers an error") tell(socket, { t: "refused", id: "any", code: "limit" });
  }
}

class Key {
  readonly #fault: Fault;
  readonly #grant: (claim: Claim) => void;
  #holders: Claim[] = [];
  #waiters: Claim[] = [];

  constructor(fault: Fault, grant: (claim: Claim) => void) {
    this.#fault = fault;
    this.#grant = grant;
  }

  get holding(): number {
    return this.#holders.length;
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  /** Whether it was granted at once. */
  ask(claim: Claim): boolean {
    if (this.#isFull || (this.#waiters.length > 0 && this.#fault !== "own lock again")) {
      this.#waiters.push(claim);
      return false;
    }
    this.#hold(claim);
    return true;
  }

  release(socket: WebSocket): void {
    this.#holders = this.#holders.filter((claim) => claim.socket !== socket);
    if (this.#fault !== "own lock again") this.grantOn();
  }

  dropped(socket: WebSocket): void {
    this.#waiters = this.#waiters.filter((claim) => claim.socket !== socket);
    this.#holders = this.#holders.filter((claim) => claim.socket !== socket);
    this.grantOn();
  }

  grantOn(): void {
    while (!this.#isFull) {
      const next = this.#fault === "last come first served" ? this.#waiters.pop() : this.#waiters.shift();
      if (next === undefined) return;
      this.#hold(next);
    }
  }

  get #isFull(): boolean {
    return this.#holders.length >= (this.#fault === "two at once" ? 2 : 1);
  }

  #hold(claim: Claim): void {
    this.#holders.push(claim);
    this.#grant(claim);
  }
}

function tell(socket: WebSocket, frame: object): void {
  socket.send(JSON.stringify(frame));
}
