/** Latchkey on Bun. Run this file to start a server from the environment, or import it to embed one. */

// — types —

import type { Server, ServerWebSocket, WebSocketHandler } from "bun";
import { startFromEnvironment } from "../src/cli/serve.ts";
import type { Admission } from "../src/host/host.ts";
import type { Socket } from "../src/host/ports.ts";
import { type Core, createCore, type Embedded } from "../src/latchkey.ts";
import type { LatchkeyOptions, RunningServer, ServeOptions } from "../src/options.ts";
import { isOurs, isUpgrade, notAnUpgrade, RECEIVED_BYTES_MAX } from "../src/requests.ts";
import { startServer } from "../src/server.ts";
import { openSqlite } from "../src/stores/bun-sqlite.ts";

export type { LatchkeyOptions, RunningServer, ServeOptions };

/** Latchkey inside a server of your own. */
export interface Latchkey extends Embedded {
  /**
   * Answers what is for Latchkey; undefined for anything else, so that `latchkey.fetch(…) ?? yours(…)` serves both.
   * After an upgrade it is a promise of undefined, as Bun wants it.
   */
  readonly fetch: (request: Request, server: Server<Peer>) => Promise<Response | undefined> | undefined;
  /** For the `websocket` of `Bun.serve`. */
  readonly websocket: WebSocketHandler<Peer>;
}

/** What a socket carries from its upgrade on. */
export interface Peer {
  readonly admission: Admission;
  socket?: Socket;
}

// — serve —

export function serve(options: ServeOptions = {}): Promise<RunningServer> {
  return startServer(options, openSqlite, (core, hostname, port) => {
    const { answer, websocket } = wire(core);
    const server = Bun.serve<Peer>({ hostname, port, fetch: answer, websocket });
    return { port: server.port ?? port, stop: () => server.stop(), abort: () => server.stop(true) };
  });
}

export function createLatchkey(options: LatchkeyOptions = {}): Latchkey {
  const core = createCore(options, openSqlite);
  const { answer, websocket } = wire(core);
  const fetch: Latchkey["fetch"] = (request, server) => (isOurs(request.url) ? answer(request, server) : undefined);
  return Object.assign(core.embedded, { fetch, websocket });
}

// — socket —

let socketCount = 0;

class BunSocket implements Socket {
  readonly id: string = `bun-${++socketCount}`;
  readonly #ws: ServerWebSocket<Peer>;

  constructor(ws: ServerWebSocket<Peer>) {
    this.#ws = ws;
  }

  get buffered(): number {
    return this.#ws.getBufferedAmount();
  }

  send(text: string): boolean {
    // 0: Bun has dropped the message, and the peer will miss it. -1: it waits for the peer to read.
    return this.#ws.sendText(text) !== 0;
  }

  close(code: number, reason: string): void {
    this.#ws.close(code, reason);
  }
}

// — wiring —

interface Wired {
  readonly answer: (request: Request, server: Server<Peer>) => Promise<Response | undefined>;
  readonly websocket: WebSocketHandler<Peer>;
}

function wire({ host, opened, closed }: Core): Wired {
  const answer: Wired["answer"] = (request, server) => {
    if (isUpgrade(request)) return upgrade(request, server);
    // Bun cuts a call on which nothing moved for 10 s, and a call may wait for 10 minutes.
    server.timeout(request, 0);
    return host.fetch(request);
  };

  const upgrade: Wired["answer"] = async (request, server) => {
    const admission = host.admit(request);
    if (admission instanceof Response) return admission;
    // Without this header Bun 1.4 echoes the first protocol offered, be it a credential; an empty one sends none.
    const headers = { "sec-websocket-protocol": admission.protocol ?? "" };
    return server.upgrade(request, { data: { admission }, headers }) ? undefined : notAnUpgrade();
  };

  const websocket: WebSocketHandler<Peer> = {
    maxPayloadLength: RECEIVED_BYTES_MAX,
    perMessageDeflate: false,
    // Bun 1.4 never times out a peer to which it sends (oven-sh/bun#39255), and an answered ping proves nothing about
    // the peer's JavaScript: the heartbeat of the protocol decides, alone.
    idleTimeout: 0,
    sendPings: false,
    open(ws) {
      ws.data.socket = new BunSocket(ws);
      opened(ws.data.socket, ws.data.admission);
    },
    message({ data: { socket } }, message) {
      if (socket === undefined) return;
      if (typeof message === "string") host.message(socket, message);
      else host.binary(socket);
    },
    close({ data: { socket } }) {
      if (socket !== undefined) closed(socket);
    },
  };

  return { answer, websocket };
}

if (import.meta.main) await startFromEnvironment(serve);
