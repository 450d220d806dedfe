/** Latchkey on Node. Run this file to start a server from the environment, or import it to embed one. */

// — types —

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { startFromEnvironment } from "../src/cli/serve.ts";
import type { Socket } from "../src/host/ports.ts";
import { type Core, createCore, type Embedded, type Traits } from "../src/latchkey.ts";
import type { LatchkeyOptions, RunningServer, ServeOptions } from "../src/options.ts";
import { isOurs, notAnUpgrade, RECEIVED_BYTES_MAX } from "../src/requests.ts";
import { type Listener, startServer } from "../src/server.ts";
import { openSqlite } from "../src/stores/node-sqlite.ts";
import { answerer } from "./node-answer.ts";
import { endingOf, isWebSocket, refuse, requestOf } from "./node-http.ts";
import { onOver, PromptWebSocket, TextFrames } from "./node-websocket.ts";

export type { LatchkeyOptions, RunningServer, ServeOptions };

/** Latchkey inside a server of your own. */
export interface Latchkey extends Embedded {
  /** For a server's `request`: answers what is for Latchkey; false for anything else, so that `… || yours(…)` serves both. */
  readonly request: (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;
  /** The same for a server's `upgrade`. */
  readonly upgrade: (incoming: IncomingMessage, connection: Duplex, head: Buffer) => boolean;
}

// — serve —

/** What is written to a caller whose hang-up is read is told as lost: so one turn, in which all is read. */
const TRAITS: Traits = { hangUpTurns: 1 };

export function serve(options: ServeOptions = {}): Promise<RunningServer> {
  const listen = async (core: Core, hostname: string, port: number): Promise<Listener> => {
    const { answer, upgrade } = wire(core);
    // Some HTTP clients (Java's) offer an upgrade to HTTP/2 with each request, to be ignored: Node would take it.
    const server = createServer({ shouldUpgradeCallback: isWebSocket }, answer).on("upgrade", upgrade);
    const ending = endingOf(server);
    await once(server.listen(port, hostname), "listening");
    return { port: (server.address() as AddressInfo).port, ...ending };
  };
  return startServer(options, openSqlite, listen, TRAITS);
}

export function createLatchkey(options: LatchkeyOptions = {}): Latchkey {
  const core = createCore(options, openSqlite, TRAITS);
  const { answer, upgrade } = wire(core);
  const request: Latchkey["request"] = (incoming, outgoing) => {
    const isMine = isOurs(incoming.url ?? "/");
    if (isMine) answer(incoming, outgoing);
    return isMine;
  };
  const ours: Latchkey["upgrade"] = (incoming, connection, head) => {
    const isMine = isOurs(incoming.url ?? "/");
    if (isMine) upgrade(incoming, connection, head);
    return isMine;
  };
  return Object.assign(core.embedded, { request, upgrade: ours });
}

// — socket —

let socketCount = 0;

class NodeSocket implements Socket {
  readonly id: string = `node-${++socketCount}`;
  readonly #ws: PromptWebSocket;
  readonly #frames: TextFrames;

  constructor(ws: PromptWebSocket, connection: Duplex) {
    this.#ws = ws;
    this.#frames = new TextFrames(connection);
  }

  get buffered(): number {
    return this.#ws.bufferedAmount;
  }

  send(text: string): boolean {
    if (this.#ws.readyState !== this.#ws.OPEN) return false;
    this.#frames.write(text);
    return true;
  }

  close(code: number, reason: string): void {
    this.#ws.closeOurselves(code, reason);
  }
}

// — wiring —

interface Wired {
  readonly answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
  readonly upgrade: (incoming: IncomingMessage, connection: Duplex, head: Buffer) => void;
}

function wire({ host, onError, opened, closed }: Core): Wired {
  // A process of our own may have a cheaper Response in the place of Node's, which costs a fifth of a call.
  const answer = answerer({ host, onError }, { overrideGlobalObjects: import.meta.main });
  const protocols = new WeakMap<IncomingMessage, string>();
  const server = new WebSocketServer({
    noServer: true,
    WebSocket: PromptWebSocket,
    clientTracking: false,
    maxPayload: RECEIVED_BYTES_MAX,
    perMessageDeflate: false,
    handleProtocols: (_offered, incoming) => protocols.get(incoming) ?? false,
  });

  const upgrade: Wired["upgrade"] = (incoming, connection, head) => {
    // A client that breaks off makes an error, which without a listener would end the process.
    connection.on("error", () => connection.destroy());
    const request = isWebSocket(incoming) ? requestOf(incoming) : undefined;
    const admission = request === undefined ? notAnUpgrade() : host.admit(request);
    if (admission instanceof Response) {
      refuse(connection, admission).catch((error: unknown) => onError(error, { where: "upgrade" }));
      return;
    }
    if (admission.protocol !== undefined) protocols.set(incoming, admission.protocol);
    server.handleUpgrade(incoming, connection, head, (ws) => {
      const socket = new NodeSocket(ws, connection);
      ws.on("message", (data: Buffer, isBinary) => {
        if (isBinary) host.binary(socket);
        else host.message(socket, data.toString());
      });
      onOver(ws, connection, () => closed(socket));
      opened(socket, admission);
    });
  };

  return { answer, upgrade };
}

if (import.meta.main) await startFromEnvironment(serve);
