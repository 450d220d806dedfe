/** How long something took, and how much of that was work, and a wait for a core that others had. The rest waited for the disk, mostly. */

import { readFileSync } from "node:fs";

export interface Taken {
  /** From beginning to end, ms: nothing else could happen in this thread. */
  readonly wall: number;
  /** Of that, its work on a core. Undefined: the kernel does not tell. */
  readonly own: number | undefined;
  /** Of that, when it could have worked and the kernel had others on the core. 0 where it does not tell. */
  readonly core: number;
}

export class Stopwatch {
  readonly #before: ThreadTimes | undefined;
  readonly #begun: number;

  constructor() {
    settle();
    this.#before = ofThread();
    this.#begun = performance.now();
  }

  read(): Taken {
    const wall = performance.now() - this.#begun;
    const core = ofThread()?.core ?? 0;
    // After the wait for a core was read, since this is one more.
    settle();
    const own = ofThread()?.own;
    if (this.#before === undefined || own === undefined) return { wall, own: undefined, core: 0 };
    return { wall, own: Math.min(wall, own - this.#before.own), core: Math.min(wall, core - this.#before.core) };
  }
}

interface ThreadTimes {
  readonly own: number;
  readonly core: number;
}

/** Of this thread since its start, as Linux counts it, ms. */
function ofThread(): ThreadTimes | undefined {
  try {
    const [own, core] = readFileSync("/proc/thread-self/schedstat", "utf8").split(" ");
    return { own: Number(own) / 1e6, core: Number(core) / 1e6 };
  } catch {
    return undefined;
  }
}

/** The kernel adds up a thread's work when the thread stops, else only with its tick of 4 ms: so it stops for a moment. */
function settle(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0.001);
}
