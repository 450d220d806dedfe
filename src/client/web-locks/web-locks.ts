/** `client.locks`: the LockManager of the Web Locks standard over the locks of the space. */

import { asyncDispose } from "../dispose.ts";
import type { KeyList, Lock, Locks } from "../locks.ts";
import { onAbort } from "../signals.ts";
import { type Wish, wishOf } from "./arguments.ts";
import type { LatchLocks, WebLock } from "./types.ts";

/** Keys that are asked about at a time: with all who may be told to wait for them they make a message of a decent size. */
const PAGE_COUNT = 100;

export function webLocks(source: Pick<Locks, "acquire" | "tryAcquire" | "list">): LatchLocks {
  return {
    // Async, so that whatever is wrong with the call is a rejection.
    async request(...args: unknown[]) {
      const { name, mode, ifAvailable, steal, signal, callback } = wishOf(args);
      // What is not asked for is not said: servers read the plain frame fastest.
      const options = { mode, steal: steal || undefined, signal };
      const lock = await source[ifAvailable ? "tryAcquire" : "acquire"](name, options);
      return lock === null ? callback(null) : runUnder(lock, callback);
    },

    async query() {
      const page = (after?: string): Promise<KeyList> => source.list({ after, count: PAGE_COUNT, queue: true });
      const [first, { snapshotOf }] = await Promise.all([page(), import("./snapshot.ts")]);
      return snapshotOf(first, page);
    },
  };
}

/** Settles as the callback does once the lock is let go, or as soon as the lock is lost: then the callback goes on alone. */
async function runUnder(lock: Lock, callback: Wish["callback"]): Promise<unknown> {
  const { key: name, mode, fence, token, signal } = lock;
  if (signal.aborted) throw lossOf(signal);
  const lost = new Promise((_, reject) => {
    onAbort(signal, () => reject(lossOf(signal)));
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
  return Object.assign(new DOMException((reason as Error).message, "AbortError"), { cause: reason as unknown });
}
