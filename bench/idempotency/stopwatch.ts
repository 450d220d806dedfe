/** How long something took, without the time in which the machine let other processes run in our place. */

import { readFileSync } from "node:fs";

export interface Taken {
  /** For how long nothing else could happen in this thread, ms: its work, and what it waited for, as for a disk. */
  readonly paused: number;
  /** Its work alone. */
  readonly worked: number;
}

export class Stopwatch {
  readonly #before = ofThread();
  readonly #begun = performance.now();

  read(): Taken {
    const took = performance.now() - this.#begun;
    const { worked, waited } = ofThread();
    const paused = Math.max(0, took - (waited - this.#before.waited));
    // The kernel may count work by whole ticks of 4 ms.
    return { paused, worked: Math.min(paused, worked - this.#before.worked) };
  }
}

/** Of this thread since its start, as Linux counts it: ms of work, and ms in which it could have worked and was not let. */
function ofThread(): { readonly worked: number; readonly waited: number } {
  try {
    const [worked, waited] = readFileSync("/proc/thread-self/schedstat", "utf8").split(" ");
    return { worked: Number(worked) / 1e6, waited: Number(waited) / 1e6 };
  } catch {
    return { worked: 0, waited: 0 };
  }
}
