/** The Web Locks standard's interfaces, as `client.locks` has them: the standard's own, and a lock that tells more. */

import type { Mode } from "../locks.ts";

export interface LatchLocks {
  /**
   * Runs the callback under the lock and resolves with its result once the lock is let go. Everything that is wrong with the call
   * is a rejection, in the standard's order and by its names. A lock that is lost meanwhile rejects at once with a
   * DOMException `AbortError`, whose `cause` is the `LockLostError`; the callback goes on, and hears of it by `lock.signal`.
   */
  request<T>(name: string, callback: (lock: WebLock) => T): Promise<Awaited<T>>;
  request<T>(
    name: string,
    options: WebLockOptions & { readonly ifAvailable?: false | undefined },
    callback: (lock: WebLock) => T,
  ): Promise<Awaited<T>>;
  request<T>(name: string, options: WebLockOptions, callback: (lock: WebLock | null) => T): Promise<Awaited<T>>;

  /** What is held and waited for in the space, by anybody, at most a hundred waiting for a name. */
  query(): Promise<WebLockSnapshot>;
}

export interface WebLockOptions {
  /** Default `exclusive`. */
  readonly mode?: Mode | undefined;
  /** When it would have to wait the callback gets null instead. */
  readonly ifAvailable?: boolean | undefined;
  /** Takes the lock from its holders, before everybody who waits. Needs the permission. */
  readonly steal?: boolean | undefined;
  /** Ends the wait: rejects with the signal's reason. It means nothing any more once the lock is granted. */
  readonly signal?: AbortSignal | undefined;
}

/** A granted lock. The last three are not the standard's; see `Lock`. */
export interface WebLock {
  readonly name: string;
  readonly mode: Mode;
  readonly signal: AbortSignal;
  readonly fence: number;
  readonly token: string;
}

export interface WebLockSnapshot {
  readonly held: readonly WebLockEntry[];
  /** Those of one name in the order in which they will be granted. */
  readonly pending: readonly WebLockEntry[];
}

export interface WebLockEntry {
  readonly name: string;
  readonly mode: Mode;
  /** The public id of the session. Empty for one who has none: a caller over HTTP, or a kept lock whose session is over. */
  readonly clientId: string;
}
