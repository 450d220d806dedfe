/**
 * What every client offers, whatever it speaks: a session over a WebSocket, plain HTTP, or a server in the same process.
 * All durations are whole milliseconds. All expected failures are a `LatchkeyError`.
 */

import type { ContendedListener } from "./contention.ts";
import type { LockLostError } from "./errors.ts";

export type Mode = "exclusive" | "shared";

export interface AcquireOptions {
  /**
   * How long to wait for the grant, ms, at most a day; 0 = only if the key is free now; absent = until granted. It counts from the call on,
   * also while there is no connection, and says nothing about how long the lock may be held.
   */
  readonly timeout?: number | undefined;
  /** The lease, 100 ms to a day, counted from the grant. With a session it may be absent: the session is then the lease. */
  readonly ttl?: number | undefined;
  /** Default `exclusive`. */
  readonly mode?: Mode | undefined;
  /** `shared` only: at most this many holders together, a semaphore. */
  readonly limit?: number | undefined;
  /** Any JSON of at most 1 024 bytes. Public. */
  readonly meta?: unknown;
  /**
   * When this client already holds the key, the new lock shares that grant at once (same token, fence and signal); the key is
   * free when all of them are released. Otherwise, and by default, this acquire queues like everybody else's.
   */
  readonly reentrant?: boolean | undefined;
  /** Take the key from its holders. Needs the permission. */
  readonly steal?: boolean | undefined;
  /** With `steal`: told to those who lose the key. */
  readonly message?: string | undefined;
  /** With a session and a `ttl`: the lock outlives the session, and ends by release or by its lease only. */
  readonly keep?: boolean | undefined;
  /** Cancels the wait: rejects with the signal's reason. It means nothing any more once the lock is granted. */
  readonly signal?: AbortSignal | undefined;
}

export interface Lock extends AsyncDisposable {
  readonly key: string;
  readonly mode: Mode;
  /** Whoever shows it is the holder: keep it secret. */
  readonly token: string;
  /** Rises with every grant of the space. Give it to the resource that the lock protects, which refuses a smaller one. */
  readonly fence: number;
  /**
   * Aborts, with a `LockLostError` as reason, when the lock ends other than by its own release; before the server can
   * grant the key to the next, as far as that can be known. Pass it to the work under the lock.
   */
  readonly signal: AbortSignal;
  /** Resolves when `signal` aborts, with its reason. Never rejects; stays pending when the lock is released. */
  readonly lost: Promise<LockLostError>;
  /**
   * Lease = now + `ttl` ms (default: as asked last). Rejects with `LockLostError` when the lock is over (an ended lease is
   * never revived), `UnavailableError` when there was no answer.
   */
  extend(ttl?: number): Promise<Extension>;
  /**
   * Lets go. A second call is the same release. Rejects with `LockLostError` when the lock was lost before. A rejection that
   * nobody looks at is not an unhandled one.
   */
  release(): Promise<void>;
  /**
   * Lets go, whatever the depth, and gives the key to a session that waits for it, past the queue. Rejects with `RefusedError` and
   * keeps the lock when that session does not wait (`not_waiting`) or others hold the key as well (`shared_holders`).
   */
  handTo(session: string): Promise<void>;
  /**
   * `contended`: others want the lock, more or fewer than before. With a session only, over HTTP it throws; it takes a watch, which ends
   * with the lock.
   */
  addEventListener(type: "contended", listener: ContendedListener): void;
  removeEventListener(type: "contended", listener: ContendedListener): void;
}

export interface Extension {
  readonly fence: number;
  /** The lease as asked, ms. */
  readonly ttl: number;
  /** What was left of it when the server answered, ms. */
  readonly expiresIn: number;
}

export interface ReleaseResult {
  /** 0: the key is let go. More: as many releases are still needed. */
  readonly depth: number;
  /** It was let go before. */
  readonly already: boolean;
}

/** Several locks that are held together. */
export interface LockSet {
  /** In the order of the keys' code units. */
  readonly locks: readonly Lock[];
  /** Aborts when any of them is lost. */
  readonly signal: AbortSignal;
  get(key: string): Lock | undefined;
}

export interface Holder {
  /** Absent for a holder without a session. */
  readonly session?: string;
  /** Who is behind that session, if it has said. */
  readonly user?: string;
  readonly mode: Mode;
  readonly fence: number;
  /** When it was granted, in whole seconds since the epoch. */
  readonly since: number;
  /** What is left of the lease, ms. Absent: the session is the lease. */
  readonly expiresIn?: number;
  readonly meta?: unknown;
}

export interface KeyStatus {
  readonly key: string;
  readonly status: "held" | "free";
  readonly holders: readonly Holder[];
  /** How many wait. */
  readonly waiting: number;
  /** Set for a semaphore. */
  readonly limit?: number;
  /** Those who wait, in their order, at most the first hundred. Set where it was asked for. */
  readonly queue?: readonly Waiting[];
}

export interface Waiting {
  /** Absent for a caller without a session. */
  readonly session?: string;
  readonly mode: Mode;
}

export interface ListOptions {
  readonly prefix?: string | undefined;
  /** Only keys greater than this one: the `next` of the page before. */
  readonly after?: string | undefined;
  /** 1 to 1 000, default 100. */
  readonly count?: number | undefined;
  /** Tell of each key who waits for it. Default false. */
  readonly queue?: boolean | undefined;
}

export interface KeyList {
  /** In the order of their code units. */
  readonly keys: readonly KeyStatus[];
  /** Give this as `after` to go on; absent at the end. */
  readonly next?: string;
}

export interface Locks {
  /**
   * Waits for the key. Rejects with `LockTimeoutError`, `LimitError`, `RefusedError`, `AccessDeniedError`, `UnavailableError`,
   * `SessionClosedError`, or the reason of the caller's signal.
   */
  acquire(key: string, options?: AcquireOptions): Promise<Lock>;

  /** The lock if it is free now, else null. Everything but "not free" rejects, as in `acquire`. */
  tryAcquire(key: string, options?: Omit<AcquireOptions, "timeout">): Promise<Lock | null>;

  /**
   * Runs `work` under the lock and releases it afterwards. An error of the work always comes through, whatever happened to the
   * lock. When the work succeeded but the lock was lost meanwhile, rejects with `LockLostError`: pass `lock.signal` on to the
   * work. A release that fails goes to `onError`.
   */
  withLock<T>(key: string, work: (lock: Lock) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>;
  /**
   * The same with several keys: sorted and without duplicates, so that no two callers block each other, and all or nothing.
   * `timeout` is for all together.
   */
  withLock<T>(
    keys: readonly string[],
    work: (locks: LockSet) => T | PromiseLike<T>,
    options?: AcquireOptions,
  ): Promise<T>;

  /** Extends a lock by its token, wherever that came from. Rejects with `LockLostError` when it holds no more. */
  extend(key: string, token: string, ttl: number): Promise<Extension>;

  /** Releases a lock by its token, wherever that came from. Rejects with `LockLostError` when it was lost before. */
  release(key: string, token: string): Promise<ReleaseResult>;

  /** Who holds a key and how many wait. */
  status(key: string): Promise<KeyStatus>;

  /** The live keys of the space, a page at a time. */
  list(options?: ListOptions): Promise<KeyList>;
}

/** Where failures go that no call can report. `where` names the place in a word. */
export type OnError = (error: unknown, context: { readonly where: string }) => void;
