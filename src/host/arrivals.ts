/**
 * What is known of hang-ups. What lets a key go and what tells of a hang-up may arrive together, and be read in the other order: so
 * whoever has waited is looked at once more after the runtime has read everything that was there. In one turn of its loop it reads, and
 * at the end of that turn, or in the next, it tells of what has closed.
 */

import type { HostPorts } from "./host-ports.ts";

const HANG_UP_TURNS_DEFAULT = 2;

export class Arrivals {
  readonly #turns: number;
  #isAllRead = false;

  constructor({ hibernation, hangUpTurns = HANG_UP_TURNS_DEFAULT }: Pick<HostPorts, "hibernation" | "hangUpTurns">) {
    // Where calls outlive their callers no signal tells of a hang-up, and no timer may run: there grants are confirmed.
    this.#turns = hibernation === undefined ? hangUpTurns : 0;
  }

  /** After so many turns of the event loop it is known who had hung up before what is being told. */
  turnsToKnow(): number {
    return this.#isAllRead ? Math.max(this.#turns - 1, 0) : this.#turns;
  }

  /** `work` has waited until all is read that this turn of the event loop brought. */
  allRead(work: () => void): void {
    this.#isAllRead = true;
    try {
      work();
    } finally {
      this.#isAllRead = false;
    }
  }
}
