import type { BackoffOptions } from "./backoff.ts";
import { type Ports, systemPorts } from "./clock.ts";
import type { AcquireOptions, Lock, Locks, OnError } from "./locks.ts";
import { SessionClient } from "./session-client.ts";
import type { Auth, WebSocketConstructor } from "./session-socket.ts";
import type { ConnectionStatus } from "./session-types.ts";
import type { Watch, Watched, WatchOptions } from "./watch-types.ts";
import type { LatchLocks } from "./web-locks/types.ts";

export interface ConnectOptions {
  /** An API key, or what gets one: called for each attempt to connect. */
  readonly auth?: Auth | undefined;
  /** Default `default`. */
  readonly space?: string | undefined;
  /**
   * How long the session, with all it holds, shall live on without a connection, ms; the server may cap it. Default 0: a lost
   * connection releases everything at once. It counts from the last heartbeat, so it helps only when it is longer than
   * the ping interval and the time that a reconnect takes together.
   */
  readonly grace?: number | undefined;
  /** Any JSON of at most 1 024 bytes, shown to others beside what the session holds. */
  readonly meta?: unknown;
  /**
   * Who is behind the session, 1 to 255 bytes: shown to others as its `user`, and how a client knows its user's other sessions. Public, and
   * nothing is permitted by it.
   */
  readonly user?: string | undefined;
  /** Default the global one. */
  readonly WebSocket?: WebSocketConstructor | undefined;
  /** Closes the client. */
  readonly signal?: AbortSignal | undefined;
  /** Hears of failures that no call can report. */
  readonly onError?: OnError | undefined;
  readonly onStatus?: ((status: ConnectionStatus) => void) | undefined;
  readonly reconnect?: ReconnectOptions | undefined;
  /**
   * Whether acquires that wait when the page goes away (is left or frozen) queue anew when it is back. Default false: then they are
   * refused with `UnavailableError`, code `away`, since nobody can say when that will be. After a mere loss of the connection they
   * always queue anew. What was held is lost in any case.
   */
  readonly requeue?: boolean | undefined;
  /**
   * `auto`, the default: where there is a document, a page that is left (also into the back-forward cache) or frozen says good-bye, so that
   * what it holds is free at once, and one that comes back connects again. `off`: only the connection counts.
   */
  readonly pageLife?: "auto" | "off" | undefined;
}

export interface ReconnectOptions extends BackoffOptions {
  /** An attempt, from asking for the credential to the welcome, fails after this long, ms. Default 10 000. */
  readonly timeoutMs?: number;
}

export interface Client extends Locks, AsyncDisposable {
  /** Resolves with the first welcome; rejects with `SessionClosedError` when the client is closed before. */
  readonly ready: Promise<void>;
  readonly connection: ConnectionStatus;
  /** The public id of the session, if there is one. */
  readonly session: string | undefined;
  /** The same locks as the Web Locks standard has them, as a LockManager. */
  readonly locks: LatchLocks;
  /** Releases everything and says good-bye; nothing can be asked any more. Resolves when the socket is closed, within a second. */
  close(): Promise<void>;
  /** Calls `listener` after every change of `connection` or `session`. Returns what ends that. */
  subscribe(listener: () => void): () => void;
  /** Watches a key, or all live keys with a prefix. At most 100 watches a session. */
  watch(watched: Watched, options?: WatchOptions): Watch;
  /**
   * Asks whoever holds the key for it, for this client's first claim that waits there. It is taken back by `withdraw`, or when that claim
   * leaves the queue. `message`: at most 1 024 bytes. Rejects with `RefusedError` (`not_waiting`) when none waits.
   */
  requestAccess(key: string, message?: string, options?: { readonly withdraw?: boolean }): Promise<void>;
  /** Takes the key from its holders, which are told who and why. Rejects with `AccessDeniedError` without the permission to steal. */
  steal(key: string, options: StealOptions): Promise<Lock>;
}

export interface StealOptions extends Omit<AcquireOptions, "steal" | "message" | "mode" | "limit" | "reentrant"> {
  /** Told to those who lose the key, at most 1 024 bytes. */
  readonly reason: string;
}

/**
 * Opens a session at `url`: `http(s)://` or `ws(s)://`, with or without the path `/v1/session`. Returns at once; calls wait
 * for the connection. One that is lost is made again by itself. What was held is lost then (save with a `grace`), and
 * acquires that still wait queue anew with the time that is left to them. `ports`: other clocks and timers than the runtime's.
 */
export function connect(url: string, options: ConnectOptions = {}, ports: Ports = systemPorts): Client {
  return new SessionClient(url, options, ports);
}
