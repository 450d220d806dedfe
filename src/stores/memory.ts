/** Keeps no lock, and records only as long as the process lives: what is held ends with it. */

import type { Clock, Store, StoredSpace } from "../host/ports.ts";
import { type MemoryRecordLimits, MemoryRecords } from "./memory-records.ts";
import { serialFromClock } from "./serial.ts";

export function createMemoryStore(clock: Clock, limits: Partial<MemoryRecordLimits> = {}): Store {
  const records = new MemoryRecords(limits);
  return {
    durable: false,
    epoch: Math.floor(clock.wall()),
    load: (space): StoredSpace => ({
      image: { claims: [], sessions: [], ...records.load(space) },
      serial: serialFromClock(clock.wall()),
    }),
    commit: (space, { changes, changeCount }) => {
      for (let i = 0; i < changeCount; i++) {
        const change = changes[i] as (typeof changes)[number];
        switch (change.kind) {
          case "claim":
          case "claim_forgotten":
          case "session":
          case "session_gone":
            break;
          default:
            records.write(space, change);
        }
      }
    },
    find: (space, key) => records.find(space, key),
    isFull: () => records.isFull(),
    sweep: (now, countMax) => records.sweep(now, countMax),
    close: () => {},
  };
}
