/** The HTTP calls that wait for one answer. */

import type { Asked } from "./asked.ts";
import type { Answer, WaitAnswer } from "./calls.ts";
import type { HostParts } from "./parts.ts";

export interface Caller {
  /** Its signal is asked for only when the caller has to wait: on some runtimes that costs as much as the call. */
  readonly request: Pick<Asked, "signal">;
  readonly resolve: (answer: WaitAnswer) => void;
  readonly since: number;
}

export class Callers {
  readonly #parts: Pick<HostParts, "turnsToKnow">;
  readonly #onLeft: () => void;
  /** Each caller with what takes its listener off again. */
  readonly #callers: Map<Caller, (() => void) | undefined> = new Map();
  #hasWaited = false;

  /** `onLeft`: one has hung up. */
  constructor(parts: Pick<HostParts, "turnsToKnow">, onLeft: () => void) {
    this.#parts = parts;
    this.#onLeft = onLeft;
  }

  /** Whether it is known that the answer does not come at once. */
  get hasWaited(): boolean {
    return this.#hasWaited;
  }

  get size(): number {
    return this.#callers.size;
  }

  [Symbol.iterator](): IterableIterator<Caller> {
    return this.#callers.keys();
  }

  add(caller: Caller): void {
    this.#callers.set(caller, undefined);
    if (this.#hasWaited) this.listen(caller);
  }

  /** The answer does not come at once. */
  wait(): void {
    this.#hasWaited = true;
    for (const caller of this.#callers.keys()) this.listen(caller);
  }

  /** From now on the caller may hang up; does nothing for one that has its answer. */
  listen(caller: Caller): void {
    if (!this.#callers.has(caller) || this.#callers.get(caller) !== undefined) return;
    const { signal } = caller.request;
    const hangUp = (): void => this.#hungUp(caller);
    if (signal.aborted) {
      hangUp();
      return;
    }
    signal.addEventListener("abort", hangUp, { once: true });
    this.#callers.set(caller, () => signal.removeEventListener("abort", hangUp));
  }

  answer(answer: Answer): void {
    const turnsToKnow = this.#parts.turnsToKnow();
    for (const [caller, takeOff] of this.#callers) {
      takeOff?.();
      caller.resolve({ answer, hasWaited: this.#hasWaited, turnsToKnow });
    }
    this.#callers.clear();
  }

  #hungUp(caller: Caller): void {
    this.#callers.get(caller)?.();
    this.#callers.delete(caller);
    caller.resolve({ answer: { kind: "gone" }, hasWaited: this.#hasWaited, turnsToKnow: 0 });
    this.#onLeft();
  }
}
