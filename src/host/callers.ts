/** The HTTP calls that wait for one answer. */

import type { Answer, WaitAnswer } from "./calls.ts";

export interface Caller {
  /** Aborts when the caller hangs up, where the runtime can see it. */
  readonly signal: AbortSignal;
  readonly resolve: (answer: WaitAnswer) => void;
  readonly since: number;
}

export class Callers {
  readonly #onLeft: () => void;
  /** Each caller with what takes its listener off again. */
  readonly #callers: Map<Caller, (() => void) | undefined> = new Map();
  /** Whether it is known that the answer does not come at once. */
  hasWaited = false;

  /** `onLeft`: one has hung up. */
  constructor(onLeft: () => void) {
    this.#onLeft = onLeft;
  }

  get size(): number {
    return this.#callers.size;
  }

  [Symbol.iterator](): IterableIterator<Caller> {
    return this.#callers.keys();
  }

  add(caller: Caller): void {
    this.#callers.set(caller, undefined);
  }

  /** From now on the caller may hang up; does nothing for one that has its answer. */
  listen(caller: Caller): void {
    if (!this.#callers.has(caller)) return;
    const { signal } = caller;
    const hangUp = (): void => this.#hungUp(caller);
    signal.addEventListener("abort", hangUp, { once: true });
    this.#callers.set(caller, () => signal.removeEventListener("abort", hangUp));
  }

  answer(answer: Answer): void {
    for (const [caller, takeOff] of this.#callers) {
      takeOff?.();
      caller.resolve({ answer, hasWaited: this.hasWaited });
    }
    this.#callers.clear();
  }

  #hungUp(caller: Caller): void {
    this.#callers.get(caller)?.();
    this.#callers.delete(caller);
    caller.resolve({ answer: { kind: "gone" }, hasWaited: this.hasWaited });
    this.#onLeft();
  }
}
