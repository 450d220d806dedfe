/** A lock server of a page, with one fault on purpose, over WebSockets and as much HTTP as a soak needs. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { type WebSocket, WebSocketServer } from "ws";
import type { Scenario } from "../../bench/scenarios.ts";
import type { BenchServer } from "../../bench/servers/server.ts";
import { type Fault, type Key, Locks } from "./locks.ts";

/** What shows most of the faults. */
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

interface Frame {
  readonly t: string;
  readonly id: string;
  readonly key: string;
  readonly ttl?: number;
}

/** Grants after which a fault shows that comes once: fewer than a row of a few clients has on the slowest machine. */
const GRANTS_BEFORE = 4;
/** At its gauges, for which a session is told of that has gone. */
const LOOKS_LATE = 3;

type Came = (what: "session" | "grant" | "wait") => void;

export interface LockServer extends BenchServer {
  /** Ends one of the connections. */
  closeOne(): void;
  /** Answers the releases so far. */
  acknowledge(): void;
  /** How often it has told that it knows of nobody and of nothing. */
  emptyTold(): number;
}

/** `came`: hears of each session, each grant and each wait before anybody else does. */
export async function lockServer(fault: Fault, came: Came = () => undefined): Promise<LockServer> {
  const wire = new Wire(fault, came);
  const http = createServer((request, response) => void wire.asked(request, response));
  const sockets = new WebSocketServer({ server: http, handleProtocols: () => "latchkey.v1" });
  sockets.on("connection", (socket) => {
    wire.opened();
    socket.on("message", (text: Buffer) => wire.heard(socket, text.toString()));
    socket.on("close", () => wire.closed(socket));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}`,
    pid: undefined,
    acknowledge: () => wire.acknowledge(),
    emptyTold: () => wire.emptyTold,
    closeOne: () => [...sockets.clients][0]?.close(1011),
    stop: async () => {
      for (const socket of sockets.clients) socket.terminate();
      http.close();
    },
  };
}

class Wire {
  emptyTold = 0;
  readonly #fault: Fault;
  readonly #came: Came;
  readonly #locks: Locks;
  readonly #unanswered: (() => void)[] = [];
  #sessions = 0;
  #tickets = 0;
  #calls = 0;
  #lateLooks = 0;

  constructor(fault: Fault, came: Came) {
    this.#fault = fault;
    this.#came = came;
    this.#locks = new Locks(fault);
  }

  opened(): void {
    this.#came("session");
    this.#sessions += 1;
    this.#lateLooks = this.#fault === "forgets the last session late" ? LOOKS_LATE : 0;
  }

  heard(socket: WebSocket, text: string): void {
    for (const frame of [JSON.parse(text) as Frame | Frame[]].flat()) this.#serve(socket, frame);
    this.#locks.grantOn();
  }

  acknowledge(): void {
    for (const released of this.#unanswered.splice(0)) released();
  }

  closed(socket: WebSocket): void {
    if (this.#fault !== "counts sessions that have gone") this.#sessions -= 1;
    this.#locks.dropped(socket);
  }

  /** About the whole server or one key; or a caller acquires or releases. */
  async asked(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === "/metrics") {
      response.end(this.#metrics());
      return;
    }
    const [, coded = "", act] = /^\/v1\/latch\/([^/]+)(?:\/(\w+))?$/.exec(request.url ?? "") ?? [];
    const name = decodeURIComponent(coded);
    const key = this.#locks.key(name);
    if (act === undefined) answer(response, { status: key.holding > 0 ? "held" : "free", waiting: key.waiting });
    else if (act === "release") {
      key.release(((await json(request)) as { readonly token: string }).token);
      answer(response, { status: "released" });
    } else {
      // Without a lease: nobody has to prove that one which he waited for is still his.
      const token = `call${++this.#calls}`;
      const told = { status: "acquired", key: name, token, mode: "exclusive", depth: 1 };
      key.ask({ by: token, ttlMs: undefined, granted: (fence) => answer(response, { ...told, fence }) });
    }
  }

  #metrics(): string {
    const isLate = this.#sessions === 0 && this.#lateLooks > 0;
    if (isLate) this.#lateLooks -= 1;
    const keys = this.#locks.all.filter(({ holding }) => holding > 0);
    const sum = (of: (key: Key) => number): number => keys.reduce((total, key) => total + of(key), 0);
    const holding = sum((key) => key.holding);
    const sessions = isLate ? 1 : this.#sessions;
    if (sessions === 0 && keys.length === 0) this.emptyTold += 1;
    return Object.entries({ sessions, keys: keys.length, holding, waiting: sum((key) => key.waiting) })
      .map(([name, value]) => `latchkey_${name} ${value}\n`)
      .join("");
  }

  #serve(socket: WebSocket, { t, id, key, ttl }: Frame): void {
    if (t === "hello" && this.#fault === "hangs up at hello") socket.close(4500);
    else if (t === "hello") tell(socket, { t: "welcome" });
    else if (t === "release") {
      this.#locks.key(key).release(socket);
      const released = (): void => tell(socket, { t: "released", id });
      if (this.#fault === "keeps acknowledgements back") this.#unanswered.push(released);
      else released();
    } else {
      const granted = (fence: number): void => this.#grant(socket, id, key, fence);
      if (this.#locks.key(key).ask({ by: socket, ttlMs: ttl, granted })) return;
      this.#came("wait");
      tell(socket, { t: "queued", id, ticket: ++this.#tickets, position: 1 });
    }
  }

  #grant(socket: WebSocket, id: string, key: string, fence: number): void {
    this.#came("grant");
    tell(socket, { t: "granted", id, key, token: "token", fence });
    if (this.#locks.grants !== GRANTS_BEFORE) return;
    if (this.#fault === "closes a socket") socket.close(1011);
    if (this.#fault === "takes a lock away") tell(socket, { t: "lost", key, reason: "revoked" });
    if (this.#fault === "answers an error") tell(socket, { t: "refused", id: "any", code: "limit" });
  }
}

function tell(socket: WebSocket, frame: object): void {
  socket.send(JSON.stringify(frame));
}

function answer(response: ServerResponse, body: object): void {
  response.setHeader("content-type", "application/json").end(JSON.stringify(body));
}
