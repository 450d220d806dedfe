/** A host with its ports: what the runtimes have in common. */

import type { IdempotentClient } from "./client/idempotency.ts";
import type { Idempotency } from "./client/idempotency-calls.ts";
import type { Locks } from "./client/locks.ts";
import { FAREWELL_MAX_MS, once, settlesWithin } from "./ending.ts";
import { openFleet, withFleetTimes } from "./fleet/open.ts";
import { createAlarm } from "./host/alarm.ts";
import { systemClock } from "./host/clock.ts";
import { type Admission, Host } from "./host/host.ts";
import type { HostPorts } from "./host/host-ports.ts";
import { createMint } from "./host/mint.ts";
import type { Socket, Store } from "./host/ports.ts";
import { connectLocal, type LocalOptions } from "./local.ts";
import type { LatchkeyOptions, OnError } from "./options.ts";
import type { FileOptions } from "./stores/file.ts";
import { createMemoryStore } from "./stores/memory.ts";
import { splitStore } from "./stores/split.ts";

/** What a program that has the locks inside it can do with them. */
export interface Embedded extends AsyncDisposable {
  /** The locks and the idempotent work of the default space without a network, by one session that begins with the first use. */
  readonly locks: Locks & Idempotency;
  /** A session of its own, in any space. */
  readonly connect: (options?: LocalOptions) => IdempotentClient;
  /** Ends all sessions and pending calls and lets go of the store. A second call waits for the same end. */
  readonly close: () => Promise<void>;
}

export interface Core {
  readonly host: Host;
  readonly onError: OnError;
  /** For a runtime's sockets, in the place of the host's, so that `close` can wait for them. */
  readonly opened: (socket: Socket, admission: Admission) => void;
  readonly closed: (socket: Socket) => void;
  readonly close: () => Promise<void>;
  /** Rejects when what keeps the locks cannot be used. */
  readonly ready: () => Promise<void>;
  readonly embedded: Embedded;
}

export type OpenSqlite = (path: string, options: FileOptions) => Store;

/** What is particular to a runtime, as in HostPorts. */
export type Traits = Pick<HostPorts, "hasDearSignals" | "hangUpTurns">;

/**
 * Measured with ends of connections right behind requests (Bun 1.4, Deno 2.9, Node 24): in the first turn, the one that the request was read in, nothing
 * more of that connection is read on Bun and Node; in the second its end is read, and told. Deno tells it at the end of the first.
 */
const LOOK_TURNS = 2;

export function createCore(options: LatchkeyOptions, openSqlite: OpenSqlite, traits: Traits = {}): Core {
  const { db, idempotencyDb = db ?? null, sync, onError = printError, fleet: choices, ...settings } = options;
  const clock = systemClock;
  const mint = createMint();
  const fleet = choices && openFleet(choices, { clock, mint, onError });
  const open = (path: string | null): Store =>
    path === null ? createMemoryStore(clock) : openSqlite(path, { clock, ...(sync && { sync }) });
  const locksDb = db ?? null;
  const openStores = (): Store =>
    idempotencyDb === locksDb ? open(locksDb) : splitStore(open(locksDb), open(idempotencyDb));
  const store = fleet === undefined ? openStores() : fleetStore(fleet);
  const alarm = createAlarm(clock, () => host.woken());
  // Many callers at once cost a third less with one commit for all whose requests one turn of the event loop has read.
  const later = (work: () => void): void => void setImmediate(work);
  const gather = store.durable ? later : undefined;
  const host = new Host(
    { clock, alarm, mint, store, gather, later, lookTurns: LOOK_TURNS, onError, fleet, ...traits },
    choices ? withFleetTimes(settings, choices) : settings,
  );
  const sockets = new OpenSockets();
  const clients = new Set<IdempotentClient>();
  let isClosing = false;
  const close = once(async () => {
    isClosing = true;
    await Promise.all([...clients].map((client) => client.close()));
    await host.drain();
    alarm.stop();
    // A server that is stopped before would close the rest in its own words, which say nothing of when to come back.
    await settlesWithin(FAREWELL_MAX_MS, sockets.empty());
  });
  const connect = (local: LocalOptions = {}): IdempotentClient => {
    const client = connectLocal(host, {
      onError,
      ...local,
      onStatus(status) {
        if (status === "closed") clients.delete(client);
        local.onStatus?.(status);
      },
    });
    clients.add(client);
    if (isClosing) client.close().catch((error: unknown) => onError(error, { where: "close" }));
    return client;
  };
  let locks: IdempotentClient | undefined;
  const embedded: Embedded = {
    get locks() {
      return (locks ??= connect());
    },
    connect,
    close,
    [Symbol.asyncDispose]: close,
  };
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
    close,
    ready: async () => fleet?.ready(),
    embedded,
  };

  /** Nothing is stored here; what is asked of a store besides is answered by Redis. */
  function fleetStore(shared: NonNullable<typeof fleet>): Store {
    return {
      ...createMemoryStore(clock),
      get durable() {
        return shared.durable;
      },
      close: () => shared.close(),
    };
  }
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

const printError: OnError = (error, { where }) => {
  console.error(`latchkey: error in ${where}:`, error);
};
