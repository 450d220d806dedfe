/** `client.locks`: the LockManager of the Web Locks standard over the locks of the space. */

import { asyncDispose } from "../dispose.ts";
import { LockTimeoutError } from "../errors.ts";
import type { Lock, Locks } from "../locks.ts";
import { type Wish, wishOf } from "./arguments.ts";
import type { LatchLocks, WebLock, WebLockEntry } from "./types.ts";

/** Keys that are asked about at a time: with all who may be told to wait for them they make a message of a decent size. */
const PAGE_COUNT = 100;

export function webLocks(source: Pick<Locks, "acquire" | "list">): LatchLocks {
  return {
    // Async, so that whatever is wrong with the call is a rejection.
    async request(...args: unknown[]) {
      const wish = wishOf(args);
      const lock = await lockFor(source, wish);
      return lock === null ? wish.callback(null) : runUnder(lock, wish.callback);
    },

    async query() {
      const held: WebLockEntry[] = [];
      const pending: WebLockEntry[] = [];
      let after: string | undefined;
      do {
        const { keys, next } = await source.list({ after, count: PAGE_COUNT, queue: true });
        for (const { key: name, holders, queue = [] } of keys) {
          const add = (entries: WebLockEntry[], from: typeof queue): void => {
            for (const { mode, session: clientId = "" } of from) entries.push({ name, mode, clientId });
          };
          add(held, holders);
          add(pending, queue);
        }
        after = next;
      } while (after !== undefined);
      return { held, pending };
    },
  } as LatchLocks;
}

/** Null: it is not available. */
async function lockFor(source: Pick<Locks, "acquire">, wish: Wish): Promise<Lock | null> {
  const { name, mode, ifAvailable, steal, signal } = wish;
  try {
    // What is not asked for is not said: servers read the plain frame fastest.
    return await source.acquire(name, {
      mode,
      steal: steal || undefined,
      signal,
      timeout: ifAvailable ? 0 : undefined,
    });
  } catch (error) {
    if (ifAvailable && error instanceof LockTimeoutError) return null;
    throw error;
  }
}

/** Settles as the callback does once the lock is let go, or as soon as the lock is lost: then the callback goes on alone. */
async function runUnder(lock: Lock, callback: Wish["callback"]): Promise<unknown> {
  const { key: name, mode, fence, token, signal } = lock;
  if (signal.aborted) throw lossOf(signal);
  const lost = new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(lossOf(signal)), { once: true });
  });
  const granted: WebLock = { name, mode, signal, fence, token };
  const done = new Promise((resolve) => resolve(callback(granted)));
  try {
    return await Promise.race([lost, done]);
  } finally {
    await lock[asyncDispose]();
  }
}

/** By the standard's name for it. Not every runtime's DOMException takes a cause. */
function lossOf({ reason }: AbortSignal): DOMException {
  const error = new DOMException((reason as Error).message, "AbortError");
  return Object.defineProperty(error, "cause", { value: reason, configurable: true, writable: true });
}
