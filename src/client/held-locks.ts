/** Several locks that are held together. */

import { NEVER } from "./clock.ts";
import { asyncDispose } from "./dispose.ts";
import type { AcquireOptions, Lock, LockSet, Locks } from "./locks.ts";

/** All of the keys, or none: what was granted before one that is not is let go. The timeout counts from `startedAt`. */
export async function acquireAll(
  locks: Pick<Locks, "acquire">,
  now: () => number,
  startedAt: number,
  keys: readonly string[],
  options: AcquireOptions = {},
): Promise<LockSet & AsyncDisposable> {
  const held = new HeldLocks();
  try {
    await held.acquireAll(locks, now, startedAt, keys, options);
    return held;
  } catch (error) {
    await held[asyncDispose]();
    throw error;
  }
}

class HeldLocks implements LockSet, AsyncDisposable {
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
    startedAt: number,
    keys: readonly string[],
    options: AcquireOptions,
  ): Promise<void> {
    const { timeout, signal } = options;
    const giveUpAt = startedAt + (timeout ?? NEVER);
    // A lock that is lost while the next one is waited for ends that wait: it would be for nothing.
    const stop = signal === undefined ? this.#lost.signal : AbortSignal.any([signal, this.#lost.signal]);
    for (const key of [...new Set(keys)].sort()) {
      const left = timeout === undefined ? undefined : Math.max(0, Math.ceil(giveUpAt - now()));
      const lock = await locks.acquire(key, { ...options, timeout: left, signal: stop });
      this.locks.push(lock);
      lock.signal.addEventListener("abort", () => this.#lost.abort(lock.signal.reason), { once: true });
    }
  }

  async [asyncDispose](): Promise<void> {
    await Promise.all(this.locks.map((lock) => lock[asyncDispose]()));
  }

  /** Reading a lock's signal makes it look at the clock. */
  #check(): void {
    for (const lock of this.locks) {
      if (lock.signal.aborted) this.#lost.abort(lock.signal.reason);
    }
  }
}
