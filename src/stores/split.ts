/** Locks in one store and idempotency records in another. */

import type { Change } from "../core/record.ts";
import type { Batch, Store, StoredSpace } from "../host/ports.ts";

/** What is told of locks (durable, epoch, serial) is what `locks` says. Neither knows of the other's changes. */
export function splitStore(locks: Store, records: Store): Store {
  return {
    durable: locks.durable,
    epoch: locks.epoch,
    load(space) {
      const ours = locks.load(space);
      const theirs = records.load(space);
      if (ours instanceof Promise || theirs instanceof Promise) return Promise.all([ours, theirs]).then(joined);
      return joined([ours, theirs]);
    },
    commit(space, { changes, changeCount, serialReserved }) {
      const listed = changes.slice(0, changeCount);
      const ours = listed.filter((change) => !isOfRecord(change));
      const theirs = listed.filter(isOfRecord);
      // Records first: on them rests that work runs once. A start that is stored and not told ends by its lease.
      const first = theirs.length > 0 ? records.commit(space, batchOf(theirs)) : undefined;
      const second = (): void | Promise<void> =>
        ours.length > 0 || serialReserved !== undefined
          ? locks.commit(space, { ...batchOf(ours), ...(serialReserved !== undefined && { serialReserved }) })
          : undefined;
      return first instanceof Promise ? first.then(second) : second();
    },
    find: (space, key) => records.find(space, key),
    isFull: () => records.isFull?.() ?? false,
    sweep: (now, countMax) => records.sweep(now, countMax),
    async close() {
      await Promise.all([locks.close(), records.close()]);
    },
  };
}

function joined([{ image, serial }, { image: other }]: readonly [StoredSpace, StoredSpace]): StoredSpace {
  return { image: { ...image, records: other.records, waiters: other.waiters }, serial };
}

function batchOf(changes: readonly Change[]): Batch {
  return { changes, changeCount: changes.length };
}

function isOfRecord({ kind }: Change): boolean {
  return kind === "record" || kind === "record_gone" || kind === "waiter" || kind === "waiter_gone";
}
