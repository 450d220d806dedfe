import type { Ports } from "../../../src/client/clock.ts";

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Clocks and timers that move only when the test says so. */
export class VirtualTime implements Ports {
  /** The monotonic clock and the wall clock, ms. Tests may set them. */
  monoMs = 1_000;
  wallMs = 1_700_000_000_000;
  /** What the next call of `random` gives. */
  chance = 0.5;
  readonly #timers = new Set<Timer>();
  #order = 0;

  readonly mono = (): number => this.monoMs;
  readonly wall = (): number => this.wallMs;
  readonly random = (): number => this.chance;
  /** Frames leave one by one, as soon as they are asked for. Tests of batches put a turn here. */
  afterTurn = (run: () => void): void => run();

  readonly timer = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.monoMs + Math.max(0, ms), order: this.#order++, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  get timers(): number {
    return this.#timers.size;
  }

  /** Both clocks go on, and whatever is set for then runs at its time. */
  async advance(ms: number): Promise<void> {
    const until = this.monoMs + ms;
    await settle();
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#moveTo(Math.max(this.monoMs, next.at));
      this.#timers.delete(next);
      next.run();
      await settle();
    }
    this.#moveTo(until);
    await settle();
  }

  /** The machine is suspended: the wall clock goes on, the monotonic clock and the timers stand still. */
  suspend(ms: number): void {
    this.wallMs += ms;
  }

  /** The program is busy: both clocks go on and no timer runs. */
  block(ms: number): void {
    this.#moveTo(this.monoMs + ms);
  }

  #moveTo(at: number): void {
    this.wallMs += at - this.monoMs;
    this.monoMs = at;
  }

  #next(until: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > until) continue;
      if (next === undefined || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer;
    }
    return next;
  }
}

/** Lets every promise that can go on do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await Promise.resolve();
}

/** How a promise stands, without waiting for it. */
export async function outcome(promise: PromiseLike<unknown>): Promise<unknown> {
  let result: unknown = "pending";
  promise.then(
    (value) => {
      result = value;
    },
    (error: unknown) => {
      result = error;
    },
  );
  await settle();
  return result;
}
