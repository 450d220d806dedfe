/**
 * Which calls are looked at before they are served: whether their callers are still there. The end of a connection that arrives right behind a
 * request is read only turns of the event loop after it, and to wait for them with each call would cost a tenth of it. So a call is looked at
 * when none was for a while: where calls are rare that is each, and after a standstill the first of those that have lain unread. Where one is
 * found whose caller is gone there may be more, and all are looked at until for a while there is none.
 */

import type { Asked } from "./asked.ts";
import type { Clock } from "./ports.ts";
import { turnsOver } from "./turns.ts";

/** Calls that come together with the first one are looked at as well: until that one's look is over, and at least for so long. */
const LOOK_MIN_MS = 1;
/** Then for so many times as long none is, and of calls in close succession one in forty pays. */
const RESTS_PER_LOOK = 40;
/** Somebody who hung up is one of many, as far as is known for so long. */
const ALARMED_MS = 100;

export class Looks {
  readonly #clock: Pick<Clock, "now">;
  readonly #turns: number;
  #until = Number.NEGATIVE_INFINITY;
  #restUntil = Number.NEGATIVE_INFINITY;

  /** `turns`: so many of the event loop one takes; 0: there is none. */
  constructor(clock: Pick<Clock, "now">, turns: number) {
    this.#clock = clock;
    this.#turns = turns;
    if (turns === 0) this.#restUntil = Number.POSITIVE_INFINITY;
  }

  /** Whether the caller is gone; undefined: this call is not looked at. */
  lookAt(request: Pick<Asked, "signal">): Promise<boolean> | undefined {
    const now = this.#clock.now();
    if (now >= this.#until) {
      if (now < this.#restUntil) return undefined;
      this.#until = Number.POSITIVE_INFINITY;
    }
    const { signal } = request;
    return turnsOver(this.#turns, () => signal.aborted).then(() => {
      this.#over(now, signal.aborted);
      return signal.aborted;
    });
  }

  #over(since: number, isGone: boolean): void {
    const now = this.#clock.now();
    if (isGone) {
      this.#until = now + ALARMED_MS;
      this.#restUntil = this.#until;
    } else if (this.#until === Number.POSITIVE_INFINITY) {
      this.#until = Math.max(now, since + LOOK_MIN_MS);
      this.#restUntil = this.#until + RESTS_PER_LOOK * (this.#until - since);
    }
  }
}
