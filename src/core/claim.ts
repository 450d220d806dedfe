import type { Acquire } from "./command.ts";
import type { Due } from "./deadlines.ts";
import type { By } from "./effect.ts";
import type { Latch } from "./latch.ts";
import { type ClaimEvent, type ClaimState, next, type Outcome } from "./lifecycle.ts";
import type { AskRecord, ClaimRecord, NestRecord } from "./record.ts";
import type { Session } from "./session.ts";

/**
 * One request for one key and the lease that it becomes. It stands in exactly one list (its key's queue, its key's
 * holders, or the remembered) through its own links, so that leaving from the middle is O(1).
 */
export class Claim implements ClaimRecord, Due {
  readonly ticket: number;
  readonly asked: Acquire;
  state: ClaimState = "waiting";
  deadline: number = Number.POSITIVE_INFINITY;
  slot = -1;
  previous: Claim | undefined = undefined;
  following: Claim | undefined = undefined;
  /** The session that the claim ends with. */
  owner: Session | undefined;
  /** Set while the claim lives. */
  latch: Latch | undefined = undefined;
  fence = 0;
  grantedAt = 0;
  ttlMs: number | undefined;
  depth = 0;
  outcome: Outcome | undefined = undefined;
  by: By | undefined = undefined;
  nested: NestRecord[] | undefined = undefined;
  unnested: NestRecord | undefined = undefined;
  /** Change it only through `Latch.ask`. */
  ask: AskRecord | undefined = undefined;
  abandoned = false;
  /** Whether a store has been told of this claim. */
  stored = false;

  constructor(ticket: number, asked: Acquire, owner: Session | undefined) {
    this.ticket = ticket;
    this.asked = asked;
    this.owner = owner;
    this.ttlMs = asked.ttlMs;
  }

  get order(): number {
    return this.ticket;
  }

  get session(): string | undefined {
    return this.owner?.id;
  }

  /** Whether it was ever granted, so that its token is known. */
  get wasGranted(): boolean {
    return this.fence !== 0;
  }

  move(event: ClaimEvent): void {
    this.state = next(this.state, event);
  }

  /** A claim as it was stored, without its lists and tables. */
  static from(record: ClaimRecord, owner: Session | undefined): Claim {
    const claim = new Claim(record.ticket, record.asked, owner);
    claim.state = record.state;
    claim.deadline = record.deadline;
    claim.fence = record.fence;
    claim.grantedAt = record.grantedAt;
    claim.ttlMs = record.ttlMs;
    claim.depth = record.depth;
    claim.outcome = record.outcome;
    claim.by = record.by;
    claim.nested = record.nested === undefined ? undefined : [...record.nested];
    claim.unnested = record.unnested;
    claim.ask = record.ask;
    claim.abandoned = record.abandoned;
    claim.stored = true;
    return claim;
  }
}
