/** Who held what, when, as the holders themselves saw it. What no two of them may see is checked here. */

import { expect } from "vitest";

export interface Holding {
  readonly key: string;
  readonly fence: number;
  readonly token: string;
  /** When its grant arrived: it held from then on, at the latest. */
  readonly from: number;
  /** When it last could believe that it held: before its release was sent, or when it was lost. */
  to: number;
}

export class Ledger {
  readonly #holdings: Holding[] = [];

  granted({ key, fence, token }: Pick<Holding, "key" | "fence" | "token">): Holding {
    const holding = { key, fence, token, from: performance.now(), to: Number.POSITIVE_INFINITY };
    this.#holdings.push(holding);
    return holding;
  }

  get count(): number {
    return this.#holdings.length;
  }

  get fenceMax(): number {
    return Math.max(0, ...this.#holdings.map(({ fence }) => fence));
  }

  /** Every fence was given once, and the holdings of a key follow each other in the order of their fences. */
  check(): void {
    expect(new Set(this.#holdings.map(({ fence }) => fence)).size).toBe(this.#holdings.length);
    const last = new Map<string, Holding>();
    for (const next of this.#holdings.toSorted((a, b) => a.fence - b.fence)) {
      const before = last.get(next.key);
      if (before !== undefined && next.from < before.to) {
        expect.fail(`two held ${next.key}: ${JSON.stringify(before)} and ${JSON.stringify(next)}`);
      }
      last.set(next.key, next);
    }
  }
}
