/** All that a host waits for, on its one alarm. */

import { Deadlines, type Due } from "../core/deadlines.ts";
import type { Alarm } from "./ports.ts";

/** `due` is called once, at or after the deadline; it sets the next one itself. */
export interface Timed extends Due {
  due(now: number): void;
}

export class Timers {
  readonly #alarm: Alarm;
  readonly #deadlines: Deadlines<Timed> = new Deadlines();
  #armedAt = Number.POSITIVE_INFINITY;
  #isRunning = false;
  #isStopped = false;
  #orderLast = 0;

  constructor(alarm: Alarm) {
    this.#alarm = alarm;
  }

  /** For `Timed.order`: what was made first is served first. */
  nextOrder(): number {
    return ++this.#orderLast;
  }

  /** Infinity: not at all. */
  set(item: Timed, at: number): void {
    this.#deadlines.set(item, at);
    this.#arm();
  }

  /**
   * Not later than `at`, perhaps sooner: whoever is called too early sets itself anew. Leases mostly move to later
   * times, and moving each in the heap would cost more than a call now and then.
   */
  setBy(item: Timed, at: number): void {
    if (at < item.deadline) this.set(item, at);
  }

  /** Calls all that is due. */
  run(now: number): void {
    this.#isRunning = true;
    this.#armedAt = Number.POSITIVE_INFINITY;
    try {
      for (let item = this.#deadlines.firstDue(now); item !== undefined; item = this.#deadlines.firstDue(now)) {
        this.#deadlines.set(item, Number.POSITIVE_INFINITY);
        item.due(now);
      }
    } finally {
      this.#isRunning = false;
      this.#arm();
    }
  }

  /** Nothing is due any more. */
  stop(): void {
    this.#isStopped = true;
    this.#alarm.set(Number.POSITIVE_INFINITY);
  }

  #arm(): void {
    if (this.#isStopped) return;
    if (this.#isRunning) return;
    const at = this.#deadlines.next();
    if (at === this.#armedAt) return;
    this.#armedAt = at;
    this.#alarm.set(at);
  }
}
