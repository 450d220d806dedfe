/** Time that stands still, with everybody who holds, while others have their turn at the machine. */

export class Gate {
  #isOpen = false;
  #passedNs = 0;
  #openedAtNs = 0;
  #closesAtNs = Number.POSITIVE_INFINITY;
  #opened = Promise.withResolvers<void>();

  /**
   * Looks at the clock: what never leaves the process runs in microtasks alone, and would keep a timer that closes the
   * gate waiting for ever.
   */
  get isOpen(): boolean {
    if (this.#isOpen && monotonicNs() >= this.#closesAtNs) this.close();
    return this.#isOpen;
  }

  /** Time during which the gate was open. */
  nowNs(): number {
    return this.#passedNs + (this.#isOpen ? monotonicNs() - this.#openedAtNs : 0);
  }

  open(ms: number = Number.POSITIVE_INFINITY): void {
    this.#openedAtNs = monotonicNs();
    this.#closesAtNs = this.#openedAtNs + ms * 1e6;
    this.#isOpen = true;
    this.#opened.resolve();
  }

  close(): void {
    if (!this.#isOpen) return;
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

export async function timed<T>(run: () => Promise<T>): Promise<{ readonly result: T; readonly ns: number }> {
  const began = monotonicNs();
  const result = await run();
  return { result, ns: monotonicNs() - began };
}
