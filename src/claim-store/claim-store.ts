/**
 * The locks of a client as user interfaces want them, without any framework: shares of claims, states of keys, the session, each as
 * something to subscribe to and a snapshot. Everything is made when it is subscribed to or wanted first, never by
 * looking at it, so it can be looked at while rendering; and it is dropped with the last who uses it.
 */

import type { Client, ConnectionStatus } from "../client/index.ts";
import { Claim, type ClaimIdentity, type ClaimOptions } from "./claim.ts";
import { type Later, nextTurn } from "./later.ts";
import { freeView, type LockView, SharedWatch } from "./shared-watch.ts";
import { type ClaimSnapshot, IDLE, settled } from "./snapshot.ts";

/** To subscribe to: both functions can be passed on as they are. */
export interface Shown<Snapshot> {
  readonly subscribe: (listener: () => void) => () => void;
  /** The same object until something changes. */
  readonly getSnapshot: () => Snapshot;
}

export interface SessionView {
  readonly status: ConnectionStatus;
  /** The public id of the session, if there is one. */
  readonly session: string | undefined;
}

/** One part of a user interface that shows a claim, and may want it. Its functions can be passed on as they are. */
export interface ClaimShare extends Shown<ClaimSnapshot> {
  /** How it asks for the lock, from the next `acquire` on. */
  options: ClaimOptions;
  /** This part wants the lock: it queues, unless it is held or waited for already. */
  readonly acquire: () => void;
  /** This part does not want it any more, as when it is removed. The last one lets go, a turn later. */
  readonly leave: () => void;
  /** Lets go at once, for all parts that share the claim. */
  readonly release: () => Promise<void>;
  readonly steal: (reason: string) => Promise<void>;
  readonly requestAccess: (message?: string, options?: { readonly withdraw?: boolean }) => Promise<void>;
  readonly handTo: (session: string) => Promise<void>;
}

export class ClaimStore {
  readonly session: Shown<SessionView>;
  readonly #client: Client;
  readonly #later: Later;
  readonly #watches: Map<string, SharedWatch> = new Map();
  readonly #claims: Map<string, Claim> = new Map();

  constructor(client: Client, later: Later = nextTurn) {
    this.#client = client;
    this.#later = later;
    let session: SessionView | undefined;
    this.session = {
      subscribe: (listener) => client.subscribe(listener),
      getSnapshot: () => {
        const now = { status: client.connection, session: client.session };
        return (session = settled(session ?? now, now));
      },
    };
  }

  /** The state of a key. */
  key(key: string): Shown<LockView> {
    const unknown = freeView(key);
    return {
      subscribe: (listener) => this.#watch(key).subscribe(listener),
      getSnapshot: () => this.#watches.get(key)?.view ?? unknown,
    };
  }

  /** A share of the claim that all shares with the same key, mode and limit have together. */
  share({ key, mode = "exclusive", limit }: ClaimIdentity): ClaimShare {
    const identity = { key, mode, limit };
    const id = JSON.stringify([key, mode, limit]);
    const claim = (): Claim => this.#claim(id, identity);
    const share: ClaimShare = {
      options: {},
      subscribe: (listener) => claim().subscribe(listener),
      getSnapshot: () => this.#claims.get(id)?.snapshot ?? IDLE,
      acquire: () => claim().want(share, share.options),
      leave: () => this.#claims.get(id)?.leave(share),
      release: async () => this.#claims.get(id)?.release(),
      steal: (reason) => quiet(claim().steal(share, share.options, reason)),
      requestAccess: (message, { withdraw } = {}) =>
        quiet(claim().requestAccess(share, share.options, message, withdraw)),
      handTo: (session) => quiet(claim().handTo(session)),
    };
    return share;
  }

  #watch(key: string): SharedWatch {
    return made(this.#watches, key, (drop) => {
      const onIdle = (): void => {
        drop();
        for (const other of this.#watches.values()) other.retry();
      };
      return new SharedWatch(this.#client, key, this.#later, onIdle);
    });
  }

  #claim(id: string, identity: ClaimIdentity): Claim {
    const { key } = identity;
    const watch = (): SharedWatch => this.#watch(key);
    return made(this.#claims, id, (drop) => {
      // A part that asks in another mode or limit than before must not wait for itself, or be refused for its own sake.
      for (const other of this.#claims.values()) if (other.key === key) other.makeWay();
      return new Claim(this.#client, identity, watch, this.#later, drop);
    });
  }
}

/** The one in the map, or a new one; `drop` takes it out again. */
function made<T>(map: Map<string, T>, id: string, make: (drop: () => void) => T): T {
  const known = map.get(id);
  if (known !== undefined) return known;
  const value = make(() => {
    if (map.get(id) === value) map.delete(id);
  });
  map.set(id, value);
  return value;
}

/** The same promise; nobody needs to look at its rejection. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** One store a client, whoever asks: two roots on one page share their claims. */
const stores: WeakMap<Client, ClaimStore> = new WeakMap();

export function claimStoreOf(client: Client): ClaimStore {
  let store = stores.get(client);
  if (store === undefined) stores.set(client, (store = new ClaimStore(client)));
  return store;
}
