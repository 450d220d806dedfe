/** Time that stands still, with everybody who holds, while others have their turn at the machine. */

export class Gate {
  #isOpen = false;
  #passedNs = 0;
  #openedAtNs = 0;
  #opened = Promise.withResolvers<void>();

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Time during which the gate was open. */
  nowNs(): number {
    return this.#passedNs + (this.#isOpen ? monotonicNs() - this.#openedAtNs : 0);
  }

  open(): void {
    this.#openedAtNs = monotonicNs();
    this.#isOpen = true;
    this.#opened.resolve();
  }

  close(): void {
    this.#passedNs = this.nowNs();
    this.#isOpen = false;
    this.#opened = Promise.withResolvers<void>();
  }

  /** Resolves when it is open. */
  pass(): Promise<void> {
    return this.#opened.promise;
  }
}

export function monotonicNs(): number {
  return performance.now() * 1e6;
}
