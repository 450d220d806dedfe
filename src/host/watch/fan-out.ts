/**
 * Tells many the same, some at a time: a hand-off that comes in between waits for a slice of a thousand messages, not for all of
 * them. All that is to be told, of all spaces, stands in one line.
 */

import type { Departures } from "../departures.ts";
import type { OnError } from "../parts.ts";
import type { Pause } from "../pauses.ts";

/** Tells one more; false: there was none. */
export type Teller = () => boolean;

/** A message costs some µs: so many are told until others have a turn. */
const SLICE_MAX = 8;

export class FanOut {
  readonly #pause: Pause;
  readonly #departures: Departures;
  readonly #onError: OnError;
  readonly #line: Teller[] = [];
  #isPausing = false;

  constructor(pause: Pause, departures: Departures, onError: OnError) {
    this.#pause = pause;
    this.#departures = departures;
    this.#onError = onError;
  }

  /** Calls `teller` until it returns false, after those that came before. */
  add(teller: Teller): void {
    this.#line.push(teller);
    this.#goOn();
  }

  #goOn(): void {
    if (this.#isPausing || this.#line.length === 0) return;
    this.#isPausing = true;
    this.#pause(0, () => {
      this.#isPausing = false;
      this.#slice();
      this.#goOn();
    });
  }

  /** One turn of the host. */
  #slice(): void {
    this.#departures.begin();
    for (let told = 0; told < SLICE_MAX && this.#line.length > 0; told++) {
      if (!this.#tellOne(this.#line[0] as Teller)) this.#line.shift();
    }
    this.#departures.end();
  }

  #tellOne(teller: Teller): boolean {
    try {
      return teller();
    } catch (error) {
      // One who cannot be told must not keep the news from the others.
      this.#onError(error, { where: "watch" });
      return true;
    }
  }
}
