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

/** `work` gets a `Lock` for a single key and a `LockSet` for a list, which is loaded with the first: the callers' types say which. */
export async function withLock<T>(
  locks: Pick<Locks, "acquire">,
  now: () => number,
  keys: string | readonly string[],
  work: (held: Lock & LockSet) => T | PromiseLike<T>,
  options?: AcquireOptions,
): Promise<T> {
  // The time that the loading takes counts too.
  const startedAt = now();
  const acquireAll = async (all: readonly string[]): Promise<LockSet & AsyncDisposable> =>
    (await import("./held-locks.ts")).acquireAll(locks, now, startedAt, all, options);
  const held = (await (typeof keys === "string" ? locks.acquire(keys, options) : acquireAll(keys))) as Lock & LockSet;
  try {
    held.signal.throwIfAborted();
    const result = await work(held);
    held.signal.throwIfAborted();
    return result;
  } finally {
    await held[asyncDispose]();
  }
}
