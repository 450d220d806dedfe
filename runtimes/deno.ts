/** Latchkey on Deno. Run this file to start a server from the environment, or import it to embed one. */

// — types —

import { startFromEnvironment } from "../src/cli/serve.ts";
import type { Admission } from "../src/host/host.ts";
import type { Socket } from "../src/host/ports.ts";
import { type Core, createCore, type Embedded, type Traits } from "../src/latchkey.ts";
import type { LatchkeyOptions, RunningServer, ServeOptions } from "../src/options.ts";
import { isOurs, isUpgrade, notAnUpgrade } from "../src/requests.ts";
import { type Listener, startServer } from "../src/server.ts";
import { openSqlite } from "../src/stores/node-sqlite.ts";
import { checkDeploy, isOnDeploy } from "./deno-deploy.ts";

export type { LatchkeyOptions, RunningServer, ServeOptions };

/** Latchkey inside a server of your own. */
export interface Latchkey extends Embedded {
  /** Answers what is for Latchkey; undefined for anything else, so that `latchkey.fetch(…) ?? yours(…)` serves both. */
  readonly fetch: (request: Request) => Promise<Response> | undefined;
}

// — serve —

/** To ask a request for its signal takes 15 µs, a whole call 20 (2.9). */
const TRAITS: Traits = { hasDearSignals: true };

export async function serve(options: ServeOptions = {}): Promise<RunningServer> {
  checkDeploy(options);
  // Whatever is asked for, there the world is let in; so the server needs keys.
  const open = isOnDeploy() ? { ...options, hostname: "0.0.0.0" } : options;
  const listen = (core: Core, hostname: string, port: number): Listener => {
    const aborter = new AbortController();
    // Whoever starts the server prints its address; without `onListen` Deno prints one as well.
    const server = Deno.serve({ hostname, port, signal: aborter.signal, onListen: () => {} }, wire(core));
    // Deno Deploy has an address of its own for what is served, whatever is asked for.
    return { port: server.addr.port ?? port, stop: () => server.shutdown(), abort: () => aborter.abort() };
  };
  return startServer(open, openSqlite, listen, TRAITS);
}

export function createLatchkey(options: LatchkeyOptions = {}): Latchkey {
  checkDeploy(options);
  const core = createCore(options, openSqlite, TRAITS);
  const answer = wire(core);
  const fetch: Latchkey["fetch"] = (request) => (isOurs(request.url) ? answer(request) : undefined);
  return Object.assign(core.embedded, { fetch });
}

// — socket —

let socketCount = 0;

/** How long an ended connection is listened to for a moment of silence. */
const LINGER_MAX_MS = 4000;
const SILENCE_MS = 25;

class DenoSocket implements Socket {
  readonly id: string = `deno-${++socketCount}`;
  readonly #ws: WebSocket;
  #isClosing = false;
  #heard = 0;

  constructor(ws: WebSocket) {
    this.#ws = ws;
  }

  get buffered(): number {
    return this.#ws.bufferedAmount;
  }

  heard(): void {
    this.#heard++;
  }

  send(text: string): boolean {
    // A closing socket would swallow the message without a word.
    if (this.#isClosing || this.#ws.readyState !== WebSocket.OPEN) return false;
    this.#ws.send(text);
    return true;
  }

  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#linger(() => this.#ws.close(code, reason), performance.now() + LINGER_MAX_MS);
  }

  /**
   * Deno 2.9 drops the connection at the first frame that comes after it has sent a close. When more are under way they
   * meet a reset, and the client does not learn why it was closed: so they are let in first.
   */
  #linger(close: () => void, until: number): void {
    const heard = this.#heard;
    setTimeout(() => {
      if (heard === this.#heard || performance.now() >= until) close();
      else this.#linger(close, until);
    }, SILENCE_MS);
  }
}

// — wiring —

function wire({ host, opened, closed }: Core): (request: Request) => Promise<Response> {
  return (request) => (isUpgrade(request) ? open(request) : host.fetch(request));

  async function open(request: Request): Promise<Response> {
    // Before the upgrade: after it Deno lets nobody read the request.
    const admission = host.admit(request);
    if (admission instanceof Response) return admission;
    return upgrade(request, admission, (ws) => {
      const socket = new DenoSocket(ws);
      // Nothing may be sent before `open`: Deno throws.
      ws.onopen = () => opened(socket, admission);
      ws.onmessage = ({ data }) => {
        socket.heard();
        if (typeof data === "string") host.message(socket, data);
        else host.binary(socket);
      };
      // A peer that vanishes makes an `error` and then a `close` with code 0: the second tells the end, once.
      ws.onclose = () => closed(socket);
    });
  }
}

function upgrade(request: Request, { protocol }: Admission, accept: (ws: WebSocket) => void): Response {
  try {
    // Deno would ping by itself, and an answered ping proves nothing about the peer's JavaScript: the heartbeat of the
    // protocol decides, alone.
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
    // Deno's own option for it throws when the offered protocols stand in a list without blanks (2.9).
    if (protocol !== undefined) response.headers.set("sec-websocket-protocol", protocol);
    accept(socket);
    return response;
  } catch {
    return notAnUpgrade();
  }
}

if (import.meta.main) await startFromEnvironment(serve);
