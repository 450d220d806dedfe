/**
 * One event, delivered to several servers and more than once, is processed once.
 *
 * The lock alone keeps two servers from working on the event at the same time. That it is not done again later is what the
 * mark is for; it is only looked at and written under the lock. What remains: a process that dies between the work and its
 * mark has done the work, and the next delivery does it again. Where that must not be, write mark and work in one
 * transaction of your database, and let it refuse a smaller fence than it has seen.
 */

import type { Locks } from "latchkey/client";

export interface Event {
  readonly id: string;
}

/** Something that all servers see, such as a table. */
export interface Marks {
  has(event: Event): Promise<boolean>;
  add(event: Event, fence: number): Promise<void>;
}

export type Work = (event: Event, signal: AbortSignal) => Promise<void>;

export function processOnce(event: Event, locks: Locks, marks: Marks, work: Work): Promise<"processed" | "repeated"> {
  return locks.withLock(
    `webhook/${event.id}`,
    async (lock) => {
      if (await marks.has(event)) return "repeated";
      // The signal aborts when the lock is lost: from then on another server may have the event.
      await work(event, lock.signal);
      await marks.add(event, lock.fence);
      return "processed";
    },
    { ttl: 30_000, timeout: 10_000 },
  );
}
