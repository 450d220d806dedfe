/** Somebody within the server's process who learns when a key is free, at the moment it is granted. */

import type { Latchkey } from "../../../runtimes/node.ts";

export class Observer {
  readonly #locks: Latchkey["locks"];

  constructor({ locks }: Latchkey) {
    this.#locks = locks;
  }

  /** Queues for the key, and resolves once the server has heard that. `free`: when it was granted; it is given back at once. */
  async queueFor(key: string): Promise<{ readonly free: Promise<number> }> {
    const free = this.#locks.acquire(key).then(async (lock) => {
      const at = performance.now();
      await lock.release();
      return at;
    });
    // A test that failed before it looked at this has told why.
    free.catch(() => undefined);
    // Answers come in order: what was asked before the status has been heard before it.
    await this.#locks.status(key);
    return { free };
  }

  /** The public ids of the sessions that hold the key. */
  async holders(key: string): Promise<readonly (string | undefined)[]> {
    return (await this.#locks.status(key)).holders.map(({ session }) => session);
  }

  async waiting(key: string): Promise<number> {
    return (await this.#locks.status(key)).waiting;
  }
}
