/** What a host is made of: everything that a runtime, or a test, puts in its place. */

import type { FleetPort } from "./fleet-port.ts";
import type { OnError } from "./parts.ts";
import type { Pause } from "./pauses.ts";
import type { Alarm, Clock, Hibernation, Mint, Share, Store } from "./ports.ts";

export interface HostPorts {
  readonly clock: Clock;
  readonly alarm: Alarm;
  readonly mint: Mint;
  readonly store: Store;
  /** Hears of what went wrong inside: it is told nothing secret, and callers are told nothing of it. */
  readonly onError: OnError;
  /** Default: the runtime's own timers. */
  readonly pause?: Pause;
  /**
   * Calls back at the end of this turn of the event loop, when all that had arrived is read: whatever is to be stored by then
   * shares one commit. Absent: each commits by itself, at once. Only for a store that commits without a promise.
   */
  readonly gather?: ((commit: () => void) => void) | undefined;
  /** Calls back at the end of this turn of the event loop, when all that had arrived is read. Absent: nothing is put off until then. */
  readonly later?: ((work: () => void) => void) | undefined;
  /** To ask a request for its signal costs as much as the call, and one asked for late tells nothing at once: only calls that wait do. */
  readonly hasDearSignals?: boolean | undefined;
  /**
   * So many turns of the event loop after a hang-up has arrived a request's signal tells of it, at the latest. In the first of them all is
   * read that had arrived, and it is the one that a gathered commit waits for. Default: 2. Where no signal tells of hang-ups: none.
   */
  readonly hangUpTurns?: number | undefined;
  /**
   * So many turns of the event loop after a request is read its signal tells of a hang-up that had arrived right behind it. Default: 0, nobody
   * is looked for before a call is served.
   */
  readonly lookTurns?: number | undefined;
  readonly hibernation?: Hibernation;
  readonly share?: Share | undefined;
  /** Set where spaces are shared with other processes; `store` then only tells whether what is there is durable. */
  readonly fleet?: FleetPort | undefined;
}
