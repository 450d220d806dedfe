/** What the three runtimes have in common: a host with its ports, a server around it, and which requests are its. */

import { isLoopback, urlOf } from "./address.ts";
import { createAlarm } from "./host/alarm.ts";
import { systemClock } from "./host/clock.ts";
import { type Admission, Host } from "./host/host.ts";
import { createMint } from "./host/mint.ts";
import type { Socket, Store } from "./host/ports.ts";
import {
  HOSTNAME_DEFAULT,
  type LatchkeyOptions,
  type OnError,
  PORT_DEFAULT,
  type RunningServer,
  type ServeOptions,
} from "./options.ts";
import type { FileOptions } from "./stores/file.ts";
import { createMemoryStore } from "./stores/memory.ts";

/**
 * A frame of up to this size reaches the host, which closes 4413 when it is above the limit of the protocol. What is
 * larger still is not taken off the wire, and the runtime itself closes (1009).
 */
export const RECEIVED_BYTES_MAX: number = 4 * 1024 * 1024;

/** Whoever does not answer a close, or does not take an answer, is waited for so long. */
const FAREWELL_MAX_MS = 1000;

export interface Core {
  readonly host: Host;
  readonly onError: OnError;
  /** For a runtime's sockets, in the place of the host's, so that `close` can wait for them. */
  readonly opened: (socket: Socket, admission: Admission) => void;
  readonly closed: (socket: Socket) => void;
  /** Ends all sessions and pending calls and lets go of the store. A second call waits for the same end. */
  readonly close: () => Promise<void>;
}

export type OpenSqlite = (path: string, options: FileOptions) => Store;

export function createCore(options: LatchkeyOptions, openSqlite: OpenSqlite): Core {
  const { db, sync, onError = printError, ...settings } = options;
  const clock = systemClock;
  const store = db === undefined ? createMemoryStore(clock) : openSqlite(db, { clock, ...(sync && { sync }) });
  const alarm = createAlarm(clock, () => host.woken());
  const host = new Host({ clock, alarm, mint: createMint(), store, onError }, settings);
  const sockets = new OpenSockets();
  return {
    host,
    onError,
    opened(socket, admission) {
      sockets.add(socket);
      host.opened(socket, { admission });
    },
    closed(socket) {
      host.closed(socket);
      sockets.remove(socket);
    },
    close: once(async () => {
      await host.drain();
      alarm.stop();
      // A server that is stopped before would close the rest in its own words, which tell clients to come back at once.
      await settlesWithin(FAREWELL_MAX_MS, sockets.empty());
    }),
  };
}

/** A port that a runtime listens on for a core. */
export interface Listener {
  readonly port: number;
  /** Resolves when the answers under way are sent and all connections are closed. */
  readonly stop: () => Promise<unknown>;
  /** Closes what is left. */
  readonly abort: () => unknown;
}

export async function startServer(
  { hostname = HOSTNAME_DEFAULT, port = PORT_DEFAULT, ...options }: ServeOptions,
  openSqlite: OpenSqlite,
  listen: (core: Core, hostname: string, port: number) => Listener | Promise<Listener>,
): Promise<RunningServer> {
  if (!isLoopback(hostname) && !options.keys?.length) {
    throw new RangeError(`a server that others can reach, as on ${hostname}, needs keys`);
  }
  const core = createCore(options, openSqlite);
  try {
    const listener = await listen(core, hostname, port);
    const close = once(async () => {
      await core.close();
      if (!(await settlesWithin(FAREWELL_MAX_MS, listener.stop()))) await listener.abort();
    });
    return { url: urlOf(hostname, listener.port), port: listener.port, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await core.close();
    throw error;
  }
}

const PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics", "/openapi.json"]);

/** Whether a request is for Latchkey, or for the program that it is embedded in. `url` may lack scheme and host. */
export function isOurs(url: string): boolean {
  // Without building a URL, which would cost more than all the rest of this decision.
  const authority = url.startsWith("/") ? 0 : url.indexOf("://") + 3;
  const start = Math.max(url.indexOf("/", authority), 0);
  const query = url.indexOf("?", start);
  const path = query === -1 ? url.slice(start) : url.slice(start, query);
  return path.startsWith("/v1/") || PATHS.has(path);
}

export function isUpgrade(request: Request): boolean {
  return request.headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** A WebSocket was asked for, but the runtime finds the handshake wanting. */
export function notAnUpgrade(): Response {
  return new Response("The WebSocket handshake is not complete.\n", { status: 400 });
}

class OpenSockets {
  readonly #open: Set<Socket> = new Set();
  #onEmpty: (() => void) | undefined;

  add(socket: Socket): void {
    this.#open.add(socket);
  }

  remove(socket: Socket): void {
    this.#open.delete(socket);
    if (this.#open.size === 0) this.#onEmpty?.();
  }

  empty(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
      if (this.#open.size === 0) resolve();
    });
  }
}

/** False when it takes longer. */
async function settlesWithin(maxMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), maxMs);
  });
  const settled = await Promise.race([work.then(() => true as const), late]);
  clearTimeout(timer);
  return settled;
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}

const printError: OnError = (error, { where }) => {
  console.error(`latchkey: error in ${where}:`, error);
};
