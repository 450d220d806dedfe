/** How long a process may speak for its sessions, as it knows itself: never longer than Redis lets it. */

import type { Clock } from "../host/ports.ts";

/** An instant on both clocks. A monotonic clock may stand still while the machine sleeps, and a wall clock may be set back. */
export interface Moment {
  readonly now: number;
  readonly wall: number;
}

export class Lease {
  readonly #clock: Clock;
  readonly #lastsMs: number;
  #until: Moment | undefined;

  /** `leaseMs` as Redis has it; for the rest of it, a tenth, clients are told and closed. */
  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#lastsMs = leaseMs * 0.9;
  }

  moment(): Moment {
    return { now: this.#clock.now(), wall: this.#clock.wall() };
  }

  /** A call that was sent then has been answered: Redis counts from when it arrived, which was later. */
  renewed(sent: Moment): void {
    this.#until = { now: sent.now + this.#lastsMs, wall: sent.wall + this.#lastsMs };
  }

  /** In `Clock.now()` time; -Infinity before the first answer. */
  get until(): number {
    return this.#until?.now ?? Number.NEGATIVE_INFINITY;
  }

  /** It was held, and is over by either clock. */
  get isOver(): boolean {
    const until = this.#until;
    return until !== undefined && (this.#clock.now() >= until.now || this.#clock.wall() >= until.wall);
  }
}
