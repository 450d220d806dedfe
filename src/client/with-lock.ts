/** What all clients do alike on top of `acquire`. */

import { NEVER } from "./clock.ts";
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

/** `work` gets a `Lock` for a single key and a `LockSet` for a list: the callers' types say which. */
export async function withLock<T>(
  locks: Pick<Locks, "acquire">,
  now: () => number,
  keys: string | readonly string[],
  work: (held: Lock & LockSet) => T | PromiseLike<T>,
  options: AcquireOptions = {},
): Promise<T> {
  const held = new HeldLocks();
  try {
    await held.acquireAll(locks, now, typeof keys === "string" ? [keys] : keys, options);
    held.throwIfLost();
    const result = await work((typeof keys === "string" ? held.locks[0] : held) as Lock & LockSet);
    held.throwIfLost();
    return result;
  } finally {
    await held.releaseAll();
  }
}

class HeldLocks implements LockSet {
  readonly locks: Lock[] = [];
  readonly #lost = new AbortController();

  get signal(): AbortSignal {
    this.#check();
    return this.#lost.signal;
  }

  get(key: string): Lock | undefined {
    return this.locks.find((lock) => lock.key === key);
  }

  /** One order for everybody, so that two callers never wait for each other. */
  async acquireAll(
    locks: Pick<Locks, "acquire">,
    now: () => number,
    keys: readonly string[],
    options: AcquireOptions,
  ): Promise<void> {
    const { timeout, signal } = options;
    const giveUpAt = now() + (timeout ?? NEVER);
    // A lock that is lost while the next one is waited for ends that wait: it would be for nothing.
    const stop = signal === undefined ? this.#lost.signal : AbortSignal.any([signal, this.#lost.signal]);
    for (const key of [...new Set(keys)].sort()) {
      const left = timeout === undefined ? undefined : Math.max(0, Math.ceil(giveUpAt - now()));
      const lock = await locks.acquire(key, { ...options, timeout: left, signal: stop });
      this.locks.push(lock);
      lock.signal.addEventListener("abort", () => this.#lost.abort(lock.signal.reason), { once: true });
    }
  }

  throwIfLost(): void {
    this.signal.throwIfAborted();
  }

  async releaseAll(): Promise<void> {
    await Promise.all(this.locks.map((lock) => lock[asyncDispose]()));
  }

  /** Reading a lock's signal makes it look at the clock. */
  #check(): void {
    for (const lock of this.locks) {
      if (lock.signal.aborted) this.#lost.abort(lock.signal.reason);
    }
  }
}
