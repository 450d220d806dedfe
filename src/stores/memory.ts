/** Keeps nothing: what is held ends with the process. */

import type { Clock, Store, StoredSpace } from "../host/ports.ts";
import { serialFromClock } from "./serial.ts";

export function createMemoryStore(clock: Clock): Store {
  return {
    durable: false,
    epoch: Math.floor(clock.wall()),
    load: (): StoredSpace => ({
      image: { claims: [], sessions: [] },
      serial: serialFromClock(clock.wall()),
    }),
    commit: () => {},
    close: () => {},
  };
}
