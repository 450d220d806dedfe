/** `client.locks`: the LockManager of the Web Locks standard over the locks of the space. */

import type { KeyList, Lock, Locks } from "../locks.ts";
import { under } from "../with-lock.ts";
import { type Wish, wishOf } from "./arguments.ts";
import type { LatchLocks, WebLock } from "./types.ts";

/** Keys that are asked about at a time: with all who may be told to wait for them they make a message of a decent size. */
const PAGE_COUNT = 100;

export function webLocks(source: Pick<Locks, "acquire" | "tryAcquire" | "list">): LatchLocks {
  return {
    // Async, so that whatever is wrong with the call is a rejection.
    async request(...args: unknown[]) {
      const { name, ifAvailable, wanted, callback } = wishOf(args);
      const lock = await source[ifAvailable ? "tryAcquire" : "acquire"](name, wanted);
      return lock === null ? callback(null) : runUnder(lock, callback);
    },

    async query() {
      const page = (after?: string): Promise<KeyList> => source.list({ after, count: PAGE_COUNT, queue: true });
      const first = await page();
      return (await import("./snapshot.ts")).snapshotOf(first, page);
    },
  };
}

/**
 * Settles as the callback does once the lock is let go, or as soon as the lock is lost: then the callback goes on alone, and the error has
 * the standard's name. Not every runtime's DOMException takes a cause.
 */
async function runUnder(lock: Lock, callback: Wish["callback"]): Promise<unknown> {
  const { key: name, mode, fence, token, signal, lost } = lock;
  const granted: WebLock = { name, mode, signal, fence, token };
  try {
    return await under(lock, () => Promise.race([lost.then((loss) => Promise.reject(loss)), callback(granted)]));
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    throw Object.assign(new DOMException((error as Error).message, "AbortError"), { cause: error });
  }
}
