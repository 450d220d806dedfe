/**
 * Grants whose callers cannot be seen to have hung up while they waited. Until somebody confirms that the answer was
 * taken they stand under a short lease of their own, so that one who died while waiting does not hold for its full ttl.
 */

import type { GrantTold } from "./http-call.ts";
import type { Clock, Hibernation, Mint } from "./ports.ts";
import type { Timed, Timers } from "./timers.ts";

export class Confirmations implements Timed {
  deadline: number = Number.POSITIVE_INFINITY;
  slot = -1;
  readonly order: number;
  readonly #parts: { readonly clock: Clock; readonly mint: Mint; readonly timers: Timers };
  readonly #hibernation: Hibernation;
  readonly #takeBack: (grant: GrantTold) => void;
  /** In the order of their ends. */
  readonly #open: Map<string, { readonly grant: GrantTold; readonly until: number }> = new Map();
  readonly #settling: (() => void)[] = [];

  constructor(
    parts: { readonly clock: Clock; readonly mint: Mint; readonly timers: Timers },
    hibernation: Hibernation,
    takeBack: (grant: GrantTold) => void,
  ) {
    this.#parts = parts;
    this.#hibernation = hibernation;
    this.#takeBack = takeBack;
    this.order = parts.timers.nextOrder();
  }

  /** The name under which it is to be confirmed. */
  expect(grant: GrantTold): string {
    const { clock, mint, timers } = this.#parts;
    const name = mint.token();
    const until = clock.now() + this.#hibernation.confirmMs;
    this.#open.set(name, { grant, until });
    timers.setBy(this, until);
    return name;
  }

  /** What became of the answer. A second word on the same one changes nothing. */
  confirm(name: string, isDelivered: boolean): void {
    const found = this.#open.get(name);
    this.#open.delete(name);
    if (found !== undefined && !isDelivered) this.#takeBack(found.grant);
    if (this.#open.size === 0) for (const resolve of this.#settling.splice(0)) resolve();
  }

  /** Resolves when it is known of every grant what became of it. */
  async settled(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#settling.push(resolve));
  }

  due(now: number): void {
    for (const [name, { until }] of this.#open) {
      if (until > now) {
        this.#parts.timers.setBy(this, until);
        return;
      }
      this.confirm(name, false);
    }
  }
}
