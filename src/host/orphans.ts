/**
 * Claims of callers whose calls broke off with an earlier life of this program. For a while a caller may come back for
 * its place under its request id; then whatever nobody came back for is withdrawn, granted or not.
 */

import type { Command } from "../core/index.ts";
import type { ClaimRecord } from "../core/record.ts";
import { Addressed } from "./addressed.ts";
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
  readonly #left: Addressed<Address> = new Addressed();

  constructor(submit: (command: Command) => void, parts: HostParts) {
    this.#submit = submit;
    this.#parts = parts;
    this.order = parts.timers.nextOrder();
  }

  /** The claims that a space was loaded with. */
  restored(claims: readonly ClaimRecord[]): void {
    const { hibernation, clock, timers } = this.#parts;
    if (hibernation === undefined) return;
    for (const { asked, state } of claims) {
      if (state !== "waiting" || asked.session) continue;
      this.#left.set(asked.from, asked.request, { from: asked.from, request: asked.request });
    }
    if (this.#left.size > 0) timers.set(this, clock.now() + hibernation.returnMs);
  }

  /** Its caller is here. */
  cameBack(from: string, request: string): void {
    this.#left.delete(from, request);
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
