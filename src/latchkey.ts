/** What the three runtimes have in common: a host with its ports, a server around it, and which requests are its. */

import { isLoopback, urlOf } from "./address.ts";
import { createAlarm } from "./host/alarm.ts";
import { systemClock } from "./host/clock.ts";
import { Host } from "./host/host.ts";
import { createMint } from "./host/mint.ts";
import type { Store } from "./host/ports.ts";
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

export interface Core {
  readonly host: Host;
  readonly onError: OnError;
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
  return { host, onError, close: once(end) };

  async function end(): Promise<void> {
    await host.drain();
    alarm.stop();
  }
}

/** A port that a runtime listens on for a core. */
export interface Listener {
  readonly port: number;
  /** Called when the core is closed. */
  readonly stop: () => Promise<void>;
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
      await listener.stop();
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

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}

const printError: OnError = (error, { where }) => {
  console.error(`latchkey: error in ${where}:`, error);
};
