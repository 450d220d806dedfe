/** Time that stands still until a test moves it. */

import type { Pause } from "../../../src/host/pauses.ts";
import type { Alarm, Clock } from "../../../src/host/ports.ts";

export const WALL_AT_ZERO = 1_790_000_000_000;

export class VirtualTime implements Clock, Alarm {
  #now = 1000.5;
  #alarmAt = Number.POSITIVE_INFINITY;
  /** Every instant that was asked for. */
  readonly alarms: number[] = [];
  wake: () => void = () => {};
  #pauses: { readonly at: number; readonly go: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  wall(): number {
    return WALL_AT_ZERO + this.#now;
  }

  get alarmAt(): number {
    return this.#alarmAt;
  }

  set(at: number): void {
    this.#alarmAt = at;
    this.alarms.push(at);
  }

  /** Moves on, stopping at each instant for which the alarm is set, as a perfect timer would. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (let next = this.#next(); next.at <= until; next = this.#next()) {
      this.#now = Math.max(this.#now, next.at);
      next.go();
    }
    this.#now = until;
  }

  /** What waits for its turn has it as soon as the test lets go; what waits for some time waits for the test. */
  readonly pause: Pause = (ms, go) => {
    if (ms === 0) setImmediate(go);
    else this.#pauses.push({ at: this.#now + ms, go });
  };

  #next(): { readonly at: number; readonly go: () => void } {
    const alarm = {
      at: this.#alarmAt,
      go: () => {
        this.#alarmAt = Number.POSITIVE_INFINITY;
        this.wake();
      },
    };
    const [first = alarm] = this.#pauses.toSorted((a, b) => a.at - b.at);
    if (first.at >= alarm.at) return alarm;
    const go = (): void => {
      this.#pauses = this.#pauses.filter((pause) => pause !== first);
      first.go();
    };
    return { at: first.at, go };
  }

  /** Moves on without a word: the process was busy, or the machine asleep. */
  skip(ms: number): void {
    this.#now += ms;
  }
}

/** Lets everything go on that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setTimeout(resolve));
}
