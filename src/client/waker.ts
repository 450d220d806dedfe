import { CHECK_MS, JUMP_MS, NEVER, type Ports } from "./clock.ts";

/** Timers are not set further ahead than this, ms. */
const TIMER_MAX_MS = 60_000;

/** The one timer of a session. One that is set and goes off earlier is left alone: most steps only move a deadline further away. */
export class Waker {
  readonly #ports: Ports;
  /** `isLate`: so much that the machine may have slept. */
  readonly #wake: (isLate: boolean) => void;
  readonly #now: () => number;
  #cancel: (() => void) | undefined;
  /** When the timer goes off. */
  #timedAt = NEVER;

  constructor(ports: Ports, now: () => number, wake: (isLate: boolean) => void) {
    this.#ports = ports;
    this.#now = now;
    this.#wake = wake;
  }

  /** `holding`: then a suspend of the machine must not go unnoticed. */
  wakeAt(at: number, holding: boolean): void {
    const now = this.#now();
    const timedAt = Math.min(at, now + (holding ? CHECK_MS : TIMER_MAX_MS));
    if (at !== NEVER && timedAt >= this.#timedAt) return;
    this.#cancel?.();
    this.#timedAt = NEVER;
    if (at === NEVER) return;
    this.#timedAt = timedAt;
    this.#cancel = this.#ports.timer(Math.max(0, Math.ceil(timedAt - now)), () => {
      this.#timedAt = NEVER;
      this.#wake(this.#now() >= timedAt + JUMP_MS);
    });
  }
}
