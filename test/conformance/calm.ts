/**
 * For what only holds while nothing stalls. Whoever is silent for a deadline is given up, also when it was silent because its machine had no
 * time for it. So a test of such times is tried again when it failed and the test's own process, or one that it rests on, stood still
 * meanwhile. One that fails although all of them went on has failed.
 */

import { afterEach, beforeEach, type TestError } from "vitest";

/** Something that whoever is watched answers at once, as long as it goes on. That it fails says nothing. */
export type Probe = () => Promise<unknown>;

/** A time in which nothing happens is a stall from here on. */
const STALL_MS = 100;
const INTERVAL_MS = 50;
const RETRIES_MAX = 12;
/** Vitest takes the condition of a retry as a pattern of the error's message; functions get lost on their way. */
const BLAMED = /\[while something stood still for \d+ ms\]$/;

/** What watches over the tests of a suite, one after the other. */
export class Calm {
  /** Options of a test, or of a suite for all its tests. */
  readonly options: { readonly retry: { readonly count: number; readonly condition: RegExp } };
  #longestMs = 0;
  #over = new AbortController();
  /** When each of them was asked that has not answered yet. */
  readonly #askedAt = new Map<Probe, number>();

  /** Fewer retries for tests that take long. */
  constructor(retriesMax: number = RETRIES_MAX) {
    this.options = { retry: { count: retriesMax, condition: BLAMED } };
  }

  /** To be called in a suite: its tests rest on these, and on their own process. */
  watch(probes: () => readonly Probe[] = () => []): void {
    beforeEach(() => {
      this.#longestMs = 0;
      this.#over = new AbortController();
      for (const probe of [async () => undefined, ...probes()]) this.also(probe);
    });
    afterEach(({ task }) => this.#judge(task.result?.state === "fail" ? task.result.errors?.at(-1) : undefined));
  }

  /** To be called in a test: it rests on this too, until what is returned is called. */
  also(probe: Probe): () => void {
    const over = new AbortController();
    this.#ask(probe, AbortSignal.any([over.signal, this.#over.signal])).catch(() => undefined);
    return () => {
      this.#note();
      over.abort();
    };
  }

  #judge(error: TestError | undefined): void {
    this.#note();
    this.#over.abort();
    this.#askedAt.clear();
    if (error === undefined || this.#longestMs < STALL_MS) return;
    error.message += ` [while something stood still for ${this.#longestMs.toFixed(0)} ms]`;
    console.log(error.message);
  }

  #note(): void {
    const now = performance.now();
    for (const at of this.#askedAt.values()) this.#longestMs = Math.max(this.#longestMs, now - at - INTERVAL_MS);
  }

  async #ask(probe: Probe, signal: AbortSignal): Promise<void> {
    // Whatever it answers once it is not watched any more is of no interest.
    signal.addEventListener("abort", () => this.#askedAt.delete(probe));
    while (!signal.aborted) {
      this.#askedAt.set(probe, performance.now());
      await probe().then(
        () => undefined,
        () => undefined,
      );
      await new Promise((resolve) => {
        setTimeout(resolve, INTERVAL_MS);
      });
      if (!signal.aborted) this.#note();
    }
  }
}

/** A server that goes on. */
export function goesOn({ url }: { readonly url: string }): Probe {
  return async () => (await fetch(`${url}/healthz`)).text();
}

/** For what a test awaits later: when it fails before, nobody is there to hear how that ended. */
export function later<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}
