/** What all clients do alike on top of `acquire`. */

import { asyncDispose } from "./dispose.ts";
import { LockTimeoutError } from "./errors.ts";
import type { AcquireOptions, Lock, LockSet, Locks } from "./locks.ts";

export async function tryAcquire(
  locks: Pick<Locks, "acquire">,
  key: string,
  options: Omit<AcquireOptions, "timeout"> | undefined,
): Promise<Lock | null> {
  try {
    return await locks.acquire(key, { ...options, timeout: 0 });
  } catch (error) {
    if (error instanceof LockTimeoutError) return null;
    throw error;
  }
}

/**
 * `work` gets a `Lock` for a single key and a `LockSet` for a list: the callers' types say which. What a list needs besides is loaded
 * with the first one, when its first key is asked for already: so calls for one key are served in their order. When it cannot be
 * loaded that is an error of the work.
 */
export async function withLock<T>(
  locks: Pick<Locks, "acquire">,
  now: () => number,
  keys: string | readonly string[],
  work: (held: Lock & LockSet) => T | PromiseLike<T>,
  options: AcquireOptions = {},
): Promise<T> {
  if (typeof keys === "string") return under(locks.acquire(keys, options), work as (lock: Lock) => T | PromiseLike<T>);
  const askedAt = now();
  // One order for everybody, so that two callers never wait for each other.
  const [first, ...others] = [...new Set(keys)].sort();
  const all = async (lock?: Lock): Promise<T> => {
    const { withAll } = await import("./lock-set.ts");
    return withAll(locks, lock, others, work, options, () => now() - askedAt);
  };
  return first === undefined ? all() : under(locks.acquire(first, options), all);
}

/** Runs the work under the lock, and lets it go. Rejects with the loss when the lock was lost meanwhile. */
export async function under<T>(acquiring: Lock | Promise<Lock>, work: (lock: Lock) => T | PromiseLike<T>): Promise<T> {
  const lock = await acquiring;
  try {
    lock.signal.throwIfAborted();
    const result = await work(lock);
    lock.signal.throwIfAborted();
    return result;
  } finally {
    await lock[asyncDispose]();
  }
}
