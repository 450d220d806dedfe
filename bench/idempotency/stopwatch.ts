/** How long something took, without the time in which the machine let other processes run in our place. */

import { readFileSync } from "node:fs";

export class Stopwatch {
  readonly #waited = waitedMs();
  readonly #begun = performance.now();

  ms(): number {
    const took = performance.now() - this.#begun;
    return Math.max(0, took - (waitedMs() - this.#waited));
  }
}

/** For how long this thread could have run and was not let, as Linux counts it. Waits for a disk are not in there. */
function waitedMs(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}
