/** The locks of a server with one fault on purpose: what a benchmark must not take for a fast one. */

export type Fault =
  | "none"
  /** Two may hold what one may hold. */
  | "two at once"
  | "last come first served"
  /** Whoever lets go and asks in one message has the key again, whoever waits. */
  | "own lock again"
  | "the same fence for all"
  | "closes a socket"
  | "hangs up at hello"
  | "takes a lock away"
  | "answers an error"
  | "counts sessions that have gone"
  /** It still tells of one for so many looks. */
  | "forgets the last session late"
  | "ends leases early"
  /** Until `acknowledge` is called. */
  | "keeps acknowledgements back";

/** It waits, and then holds. */
export interface Claim {
  /** Whose it is: a connection, or a token. */
  readonly by: object | string;
  readonly ttlMs: number | undefined;
  granted(fence: number): void;
}

/** Later than the lease: a timer may be early by less than one of its turns. */
const LEASE_MORE_MS = 2;

export class Locks {
  readonly #fault: Fault;
  readonly #keys = new Map<string, Key>();
  #grants = 0;

  constructor(fault: Fault) {
    this.#fault = fault;
  }

  /** How many grants there were so far. */
  get grants(): number {
    return this.#grants;
  }

  get all(): readonly Key[] {
    return [...this.#keys.values()];
  }

  key(name: string): Key {
    const key = this.#keys.get(name) ?? new Key(this.#fault, (claim) => this.#grant(claim));
    this.#keys.set(name, key);
    return key;
  }

  /** After each message. */
  grantOn(): void {
    for (const key of this.#keys.values()) key.grantOn();
  }

  /** All that it held and waited for. */
  dropped(by: object): void {
    for (const key of this.#keys.values()) key.dropped(by);
  }

  #grant(claim: Claim): void {
    this.#grants += 1;
    claim.granted(this.#fault === "the same fence for all" ? 1 : this.#grants);
  }
}

export class Key {
  readonly #fault: Fault;
  readonly #grant: (claim: Claim) => void;
  #holders: Claim[] = [];
  #waiters: Claim[] = [];

  constructor(fault: Fault, grant: (claim: Claim) => void) {
    this.#fault = fault;
    this.#grant = grant;
  }

  get holding(): number {
    return this.#holders.length;
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  /** Whether it was granted at once. */
  ask(claim: Claim): boolean {
    if (this.#isFull || (this.#waiters.length > 0 && this.#fault !== "own lock again")) {
      this.#waiters.push(claim);
      return false;
    }
    this.#hold(claim);
    return true;
  }

  release(by: Claim["by"]): void {
    this.#holders = this.#holders.filter((claim) => claim.by !== by);
    if (this.#fault !== "own lock again") this.grantOn();
  }

  dropped(by: Claim["by"]): void {
    this.#waiters = this.#waiters.filter((claim) => claim.by !== by);
    this.#holders = this.#holders.filter((claim) => claim.by !== by);
    this.grantOn();
  }

  grantOn(): void {
    while (!this.#isFull) {
      const next = this.#fault === "last come first served" ? this.#waiters.pop() : this.#waiters.shift();
      if (next === undefined) return;
      this.#hold(next);
    }
  }

  get #isFull(): boolean {
    return this.#holders.length >= (this.#fault === "two at once" ? 2 : 1);
  }

  #hold(claim: Claim): void {
    const { ttlMs } = claim;
    this.#holders.push(claim);
    this.#grant(claim);
    if (ttlMs === undefined) return;
    const over = (): void => {
      this.#holders = this.#holders.filter((holder) => holder !== claim);
      this.grantOn();
    };
    setTimeout(over, this.#fault === "ends leases early" ? ttlMs / 2 : ttlMs + LEASE_MORE_MS).unref();
  }
}
