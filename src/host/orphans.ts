/**
 * Claims of callers whose calls broke off with an earlier life of this program. For a while a caller may come back for
 * its place under its request id; then whatever nobody came back for is withdrawn, granted or not.
 */

import type { Command } from "../core/index.ts";
import type { ClaimRecord } from "../core/record.ts";
import type { HostParts } from "./parts.ts";
import type { Timed } from "./timers.ts";

interface Address {
  readonly from: string;
  readonly request: string;
}

export class Orphans implements Timed {
  deadline: number = Number.POSITIVE_INFINITY;
  slot = -1;
  readonly order: number;
  readonly #submit: (command: Command) => void;
  readonly #parts: HostParts;
  readonly #left: Map<string, Address> = new Map();

  constructor(submit: (command: Command) => void, parts: HostParts) {
    this.#submit = submit;
    this.#parts = parts;
    this.order = parts.timers.nextOrder();
  }

  /** The claims that a space was loaded with. */
  restored(claims: readonly ClaimRecord[], keyOf: (from: string, request: string) => string): void {
    const { hibernation, clock, timers } = this.#parts;
    if (hibernation === undefined) return;
    for (const { asked, state } of claims) {
      if (state !== "waiting" || asked.session) continue;
      this.#left.set(keyOf(asked.from, asked.request), { from: asked.from, request: asked.request });
    }
    if (this.#left.size > 0) timers.set(this, clock.now() + hibernation.returnMs);
  }

  /** Its caller is here. */
  cameBack(key: string): void {
    this.#left.delete(key);
  }

  due(): void {
    const orphans = [...this.#left.values()];
    this.#left.clear();
    for (const { from, request } of orphans) this.#submit({ kind: "cancel", from, request, forget: true });
  }

  /** Whether there are any. */
  get isEmpty(): boolean {
    return this.#left.size === 0;
  }
}
