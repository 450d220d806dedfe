import { Chain } from "./chain.ts";
import type { Claim } from "./claim.ts";
import type { Mode } from "./command.ts";

/** Claims in order: a queue, the holders of a key, or what is remembered. */
export type ClaimList = Chain<Claim>;
export const ClaimList: new () => ClaimList = Chain;

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
