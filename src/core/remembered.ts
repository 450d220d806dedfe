/** Claims that have ended and can still be asked for: in the order of their ends, each until its memory ends. */

import type { Claim } from "./claim.ts";
import { Deadlines, type Due } from "./deadlines.ts";
import { ClaimList } from "./latch.ts";
import { MEMORY_MS } from "./limits.ts";

/** The end of a memory that is not the usual one. A claim's own slot is that of the heap that it was in while it lived. */
interface Other extends Due {
  readonly claim: Claim;
}

export class Remembered {
  readonly #list: ClaimList = new ClaimList();
  /**
   * The first claim in the list that is remembered for the usual time. Nearly all are, and they are forgotten in the order
   * in which they ended, so that the list alone says who is next.
   */
  #usual: Claim | undefined = undefined;
  /** The others: those whose leases were long, and those of an earlier start. */
  readonly #others: Map<Claim, Other> = new Map();
  readonly #ends: Deadlines<Other> = new Deadlines();

  get count(): number {
    return this.#list.count;
  }

  /** The one that ended first. */
  get first(): Claim | undefined {
    return this.#list.first;
  }

  /** A claim has ended now. */
  add(claim: Claim, now: number): void {
    const memoryMs = Math.max(2 * (claim.ttlMs ?? 0), MEMORY_MS);
    const until = forgetAt(now, memoryMs);
    this.#list.add(claim);
    claim.deadline = until;
    if (memoryMs > MEMORY_MS) this.#addOther(claim);
    else this.#usual ??= claim;
  }

  /** A claim that ended in an earlier start, with the end of its memory. */
  restore(claim: Claim): void {
    this.#list.add(claim);
    this.#addOther(claim);
  }

  remove(claim: Claim): void {
    if (claim === this.#usual) this.#usual = this.#usualAfter(claim);
    const other = this.#others.get(claim);
    if (other !== undefined) {
      this.#others.delete(claim);
      this.#ends.remove(other);
    }
    this.#list.remove(claim);
  }

  /** One whose memory is over at `now`. */
  firstDue(now: number): Claim | undefined {
    const usual = this.#usual;
    return usual !== undefined && usual.deadline <= now ? usual : this.#ends.firstDue(now)?.claim;
  }

  /** When the next memory ends; Infinity when nothing is remembered. */
  next(): number {
    return Math.min(this.#usual?.deadline ?? Number.POSITIVE_INFINITY, this.#ends.next());
  }

  #addOther(claim: Claim): void {
    const other: Other = { claim, deadline: Number.POSITIVE_INFINITY, order: claim.order, slot: -1 };
    this.#others.set(claim, other);
    this.#ends.set(other, claim.deadline);
  }

  /** Each of the others is passed by once, since it never stands before `usual` again. */
  #usualAfter(claim: Claim): Claim | undefined {
    let after = claim.following;
    while (after !== undefined && this.#others.has(after)) after = after.following;
    return after;
  }
}

/** Rounded up to a whole second, so that forgetting wakes nobody more than once a second. */
function forgetAt(now: number, memoryMs: number): number {
  return Math.ceil((now + memoryMs) / 1000) * 1000;
}
