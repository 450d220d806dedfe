import type { Claim } from "./claim.ts";
import type { Mode } from "./command.ts";

/** Claims in order, linked through themselves: adding at the end and leaving from anywhere are O(1). */
export class ClaimList {
  first: Claim | undefined = undefined;
  #last: Claim | undefined = undefined;
  count = 0;

  add(claim: Claim): void {
    claim.previous = this.#last;
    claim.following = undefined;
    if (this.#last === undefined) this.first = claim;
    else this.#last.following = claim;
    this.#last = claim;
    this.count++;
  }

  remove(claim: Claim): void {
    if (claim.previous === undefined) this.first = claim.following;
    else claim.previous.following = claim.following;
    if (claim.following === undefined) this.#last = claim.previous;
    else claim.following.previous = claim.previous;
    claim.previous = undefined;
    claim.following = undefined;
    this.count--;
  }

  *[Symbol.iterator](): IterableIterator<Claim> {
    for (let claim = this.first; claim !== undefined; claim = claim.following) yield claim;
  }
}

/** One live key: who holds it and who waits for it. */
export class Latch {
  readonly key: string;
  /** Fixed by the first live claim; a key with a limit is a semaphore. */
  readonly limit: number | undefined;
  readonly holders: ClaimList = new ClaimList();
  readonly queue: ClaimList = new ClaimList();

  constructor(key: string, limit: number | undefined) {
    this.key = key;
    this.limit = limit;
  }

  get isFree(): boolean {
    return this.holders.count === 0 && this.queue.count === 0;
  }

  /** Whether a claim of this mode could hold together with those who hold now. The queue is not looked at. */
  admits(mode: Mode): boolean {
    const holder = this.holders.first;
    if (holder === undefined) return true;
    if (mode === "exclusive" || holder.asked.mode === "exclusive") return false;
    return this.limit === undefined || this.holders.count < this.limit;
  }
}
