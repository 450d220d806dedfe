/** Has the store delete what has expired, a little at a time: whoever is served in between shall not notice. */

import type { OnError } from "./parts.ts";
import type { Clock, Store } from "./ports.ts";
import type { Timed, Timers } from "./timers.ts";

export interface SweeperParts {
  readonly clock: Clock;
  readonly store: Store;
  readonly timers: Timers;
  /** Expired records go in groups, at multiples of this. They are not found any more anyway. */
  readonly everyMs: number;
  readonly onError: OnError;
}

/** Records looked at in one go. */
export const SWEPT_MAX = 128;
/** Between two goes while there are more, ms. */
export const PAUSE_MS = 5;
/** After a failure, ms. */
const RETRY_MS = 60_000;

export class Sweeper implements Timed {
  deadline: number = Number.POSITIVE_INFINITY;
  slot = -1;
  readonly order: number;
  readonly #parts: SweeperParts;
  #hasBegun = false;
  /** There was more to delete than could be deleted in one go. */
  #isUnderWay = false;
  /** The soonest expiry that was committed since the store began to look. */
  #watchedAt = Number.POSITIVE_INFINITY;

  constructor(parts: SweeperParts) {
    this.#parts = parts;
    this.order = parts.timers.nextOrder();
  }

  /** The store answers: whatever an earlier start has left is looked at, once. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.due(this.#parts.clock.now());
  }

  /** A record may expire then. */
  watch(at: number): void {
    if (at >= this.#watchedAt) return;
    this.#watchedAt = at;
    if (!this.#isUnderWay) this.#parts.timers.setBy(this, this.#grouped(at));
  }

  due(now: number): void {
    const { store, timers, onError } = this.#parts;
    if (!this.#isUnderWay) this.#watchedAt = Number.POSITIVE_INFINITY;
    let next: number;
    try {
      next = store.sweep(now, SWEPT_MAX);
    } catch (error) {
      onError(error, { where: "sweep" });
      next = now + RETRY_MS;
    }
    this.#isUnderWay = next <= now;
    timers.set(this, this.#isUnderWay ? now + PAUSE_MS : this.#grouped(Math.min(next, this.#watchedAt)));
  }

  #grouped(at: number): number {
    const { everyMs } = this.#parts;
    return Math.ceil(at / everyMs) * everyMs;
  }
}
