/**
 * Grants whose callers cannot be seen to have hung up while they waited. Until somebody confirms that the answer was
 * taken they stand under a short lease of their own, so that one who died while waiting does not hold for its full ttl.
 */

import type { GrantTold } from "./http-call.ts";
import type { Clock, Hibernation, Mint } from "./ports.ts";
import type { Timed, Timers } from "./timers.ts";

interface Expected {
  readonly grant: GrantTold;
  readonly until: number;
  isConfirmed: boolean;
}

export class Confirmations implements Timed {
  deadline: number = Number.POSITIVE_INFINITY;
  slot = -1;
  readonly order: number;
  readonly #parts: { readonly clock: Clock; readonly mint: Mint; readonly timers: Timers };
  readonly #hibernation: Hibernation;
  readonly #takeBack: (grant: GrantTold) => void;
  /** In the order of their ends. Also those that are confirmed: who did not hear that they stand asks again. */
  readonly #expected: Map<string, Expected> = new Map();
  #openCount = 0;
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
    this.#expected.set(name, { grant, until, isConfirmed: false });
    this.#openCount += 1;
    timers.setBy(this, until);
    return name;
  }

  /**
   * What is to become of the answer; whether the grant stands. Told again it says the same; only what was confirmed may still be taken
   * back, within its time, by one who confirmed it and then did not send it.
   */
  confirm(name: string, isDelivered: boolean): boolean {
    const found = this.#expected.get(name);
    if (found === undefined) return false;
    if (!found.isConfirmed) this.#openCount -= 1;
    found.isConfirmed = isDelivered;
    if (!isDelivered) {
      this.#expected.delete(name);
      this.#takeBack(found.grant);
    }
    if (this.#openCount === 0) for (const resolve of this.#settling.splice(0)) resolve();
    return isDelivered;
  }

  /** Resolves when it is known of every grant what became of it. */
  async settled(): Promise<void> {
    if (this.#openCount > 0) await new Promise<void>((resolve) => this.#settling.push(resolve));
  }

  due(now: number): void {
    for (const [name, { until, isConfirmed }] of this.#expected) {
      if (until > now) {
        this.#parts.timers.setBy(this, until);
        return;
      }
      if (isConfirmed) this.#expected.delete(name);
      else this.confirm(name, false);
    }
  }
}
