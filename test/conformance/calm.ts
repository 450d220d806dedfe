/**
 * For what only holds while nothing stalls: who is silent for a deadline is given up, also when it is silent because its machine had no time
 * for it. So a test of such times is played again when it failed and the test's own process, or one it rests on, stood still meanwhile. One
 * that fails although all of them went on has failed.
 */

/** Something that whoever is watched answers at once, as long as it goes on. That it fails says nothing. */
export type Probe = () => Promise<unknown>;

export interface Watched {
  readonly probes?: readonly Probe[];
  /** A time in which nothing happens is a stall from here on. */
  readonly stallMs?: number;
}

const INTERVAL_MS = 25;
const STALL_MS = 100;
const TRIES_MAX = 12;

/** Watches something that only the play knows of, from now until it is called. */
export type Watch = (probe: Probe) => () => void;

/** What `play` resolves to, or its error. It must begin anew each time, and leave nothing behind when it throws. */
export async function calmly<T>(
  play: (watch: Watch) => Promise<T>,
  { probes = [], stallMs = STALL_MS }: Watched = {},
): Promise<T> {
  for (let tries = 1; ; tries++) {
    using stalls = new Stalls(probes);
    try {
      return await play((probe) => stalls.watch(probe));
    } catch (error) {
      const { longestMs } = stalls;
      if (longestMs < stallMs || tries === TRIES_MAX) throw error;
      console.log(`played again, since something stood still for ${longestMs.toFixed(0)} ms: ${String(error)}`);
    }
  }
}

/** A server that is watched. */
export function answers({ url }: { readonly url: string }): Probe {
  return async () => (await fetch(`${url}/healthz`)).text();
}

class Stalls implements Disposable {
  #longestMs = 0;
  #isOver = false;
  /** When each of them was asked that has not answered yet. */
  readonly #askedAt = new Map<Probe, number>();

  constructor(probes: readonly Probe[]) {
    // Each interval is a probe of the process that watches.
    for (const probe of [async () => undefined, ...probes]) this.watch(probe);
  }

  watch(probe: Probe): () => void {
    const over = new AbortController();
    this.#watch(probe, over.signal).catch(() => undefined);
    return () => {
      this.#longestMs = this.longestMs;
      over.abort();
    };
  }

  get longestMs(): number {
    const now = performance.now();
    return Math.max(this.#longestMs, ...[...this.#askedAt.values()].map((at) => now - at - INTERVAL_MS));
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
  }

  async #watch(probe: Probe, signal: AbortSignal): Promise<void> {
    // Whatever it answers once it is not watched any more is of no interest.
    const forget = (): void => void this.#askedAt.delete(probe);
    signal.addEventListener("abort", forget);
    while (!this.#isOver && !signal.aborted) {
      this.#askedAt.set(probe, performance.now());
      await probe().then(
        () => undefined,
        () => undefined,
      );
      await new Promise((resolve) => {
        setTimeout(resolve, INTERVAL_MS);
      });
      this.#longestMs = this.longestMs;
    }
    forget();
  }
}
