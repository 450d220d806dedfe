/** Several locks that are held together. Loaded with the first set of them; see `with-lock.ts`. */

import { asyncDispose } from "./dispose.ts";
import type { AcquireOptions, Lock, LockSet, Locks } from "./locks.ts";
import { onAbort } from "./signals.ts";

/** Runs the work under the first lock and those of all other keys. `waitedMs`: since the set was asked for. */
export async function withAll<T>(
  locks: Pick<Locks, "acquire">,
  first: Lock | undefined,
  others: readonly string[],
  work: (held: Lock & LockSet) => T | PromiseLike<T>,
  options: AcquireOptions,
  waitedMs: () => number,
): Promise<T> {
  const held = new HeldLocks();
  try {
    if (first !== undefined) held.add(first);
    const { timeout, signal } = options;
    // A lock that is lost while the next one is waited for ends that wait: it would be for nothing.
    const stop = signal === undefined ? held.lost : AbortSignal.any([signal, held.lost]);
    for (const key of others) {
      const left = timeout === undefined ? undefined : Math.max(0, Math.ceil(timeout - waitedMs()));
      held.add(await locks.acquire(key, { ...options, timeout: left, signal: stop }));
    }
    held.signal.throwIfAborted();
    const result = await work(held as LockSet as Lock & LockSet);
    held.signal.throwIfAborted();
    return result;
  } finally {
    await Promise.all(held.locks.map((lock) => lock[asyncDispose]()));
  }
}

class HeldLocks implements LockSet {
  readonly locks: Lock[] = [];
  readonly #lost = new AbortController();

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get signal(): AbortSignal {
    // Reading a lock's signal makes it look at the clock.
    for (const { signal } of this.locks) {
      if (signal.aborted) this.#lost.abort(signal.reason);
    }
    return this.lost;
  }

  get(key: string): Lock | undefined {
    return this.locks.find((lock) => lock.key === key);
  }

  add(lock: Lock): void {
    this.locks.push(lock);
    onAbort(lock.signal, () => this.#lost.abort(lock.signal.reason));
  }
}
