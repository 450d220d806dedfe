import { Chain } from "./chain.ts";
import type { Claim } from "./claim.ts";
import type { Mode } from "./command.ts";
import type { AskRecord } from "./record.ts";

/** Claims in order: a queue, the holders of a key, or what is remembered. */
export type ClaimList = Chain<Claim>;
export const ClaimList: new () => ClaimList = Chain;

/** One live key: who holds it and who waits for it. */
export class Latch {
  readonly key: string;
  /** Fixed by the first live claim; a key with a limit is a semaphore. */
  readonly limit: number | undefined;
  readonly holders: ClaimList = new ClaimList();
  /** Made with the first who waits: most keys are held and let go. */
  #queue: ClaimList | undefined = undefined;
  /** Those in the queue that ask for the key, in no order; made with the first. */
  asking: Set<Claim> | undefined = undefined;

  constructor(key: string, limit: number | undefined) {
    this.key = key;
    this.limit = limit;
  }

  get isFree(): boolean {
    return this.holders.count === 0 && this.waiting === 0;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue?.count ?? 0;
  }

  /** Who is next. */
  get head(): Claim | undefined {
    return this.#queue?.first;
  }

  get queue(): Iterable<Claim> {
    return this.#queue ?? [];
  }

  /** What a claim in the queue asks from now on, or that it asks no longer. */
  ask(claim: Claim, ask: AskRecord | undefined): void {
    claim.ask = ask;
    if (ask !== undefined) (this.asking ??= new Set()).add(claim);
    else if (this.asking?.delete(claim) === true && this.asking.size === 0) this.asking = undefined;
  }

  /** A claim comes to the end of the queue. */
  enqueue(claim: Claim): void {
    (this.#queue ??= new ClaimList()).add(claim);
    if (claim.ask !== undefined) this.ask(claim, claim.ask);
  }

  /** A claim leaves the queue, and what it asks is gone with that. */
  dequeue(claim: Claim): void {
    this.#queue?.remove(claim);
    if (claim.ask !== undefined) this.ask(claim, undefined);
  }

  /** Whether a claim of this mode could hold together with those who hold now. The queue is not looked at. */
  admits(mode: Mode): boolean {
    const holder = this.holders.first;
    if (holder === undefined) return true;
    if (mode === "exclusive" || holder.mode === "exclusive") return false;
    return this.limit === undefined || this.holders.count < this.limit;
  }
}
