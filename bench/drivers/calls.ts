/**
 * The calls of a client that gives up on answers that take too long. Its process is stopped between its turns, and an answer that
 * came meanwhile would look late to it: so none may be under way when it is stopped.
 */

export class Calls {
  #underWay = 0;
  #isAtRest = false;
  #woken = Promise.withResolvers<void>();
  #settled = Promise.withResolvers<void>();

  /** Runs a call now, or when all wake up. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    while (this.#isAtRest) await this.#woken.promise;
    this.#underWay += 1;
    try {
      return await call();
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#settled.resolve();
    }
  }

  /** No call begins from now on. Resolves when all that have begun are over. */
  async rest(): Promise<void> {
    this.#isAtRest = true;
    if (this.#underWay === 0) return;
    this.#settled = Promise.withResolvers();
    await this.#settled.promise;
  }

  wake(): void {
    this.#isAtRest = false;
    this.#woken.resolve();
    this.#woken = Promise.withResolvers();
  }
}
