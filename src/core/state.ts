/**
 * All tables of one space, and the two moves that every rule is made of: a claim is granted, a claim ends.
 * Rules of single commands stand in the files beside this one.
 */

import type { Claim } from "./claim.ts";
import { Deadlines } from "./deadlines.ts";
import type { By, Effect } from "./effect.ts";
import type { Latch } from "./latch.ts";
import type { Outcome } from "./lifecycle.ts";
import type { EngineLimits } from "./limits.ts";
import type { Outbox } from "./outbox.ts";
import { Remembered } from "./remembered.ts";
import type { Session } from "./session.ts";

export class State {
  readonly limits: EngineLimits;
  readonly persistAll: boolean;
  now: number = Number.NEGATIVE_INFINITY;
  /** The latest ticket, fence or session order given out. */
  serial: number;
  /** Nothing is granted before; -Infinity once it is over. */
  quarantineUntil: number;
  readonly latches: Map<string, Latch> = new Map();
  readonly sessions: Map<string, Session> = new Map();
  /** Holding and remembered claims by token. */
  readonly tokens: Map<string, Claim> = new Map();
  /** Callers' live and remembered claims: scope → request id → claim. */
  readonly scopes: Map<string, Map<string, Claim>> = new Map();
  readonly deadlines: Deadlines<Claim | Session> = new Deadlines();
  readonly remembered: Remembered = new Remembered();
  callerLiveCount = 0;
  #outbox: Outbox | undefined;

  constructor(limits: EngineLimits, persistAll: boolean, serial: number, quarantineUntil: number) {
    this.limits = limits;
    this.persistAll = persistAll;
    this.serial = serial;
    this.quarantineUntil = quarantineUntil;
  }

  /** Begins a step: everything told and changed until the next one goes to this outbox. */
  begin(now: number, outbox: Outbox): void {
    if (now > this.now) this.now = now;
    this.#outbox = outbox;
  }

  tell(effect: Effect): void {
    (this.#outbox as Outbox).tell(effect);
  }

  /** A status of this key may say something else from now on. */
  touch(key: string): void {
    const outbox = this.#outbox as Outbox;
    if (outbox.isWatched) outbox.touched.add(key);
  }

  nextSerial(): number {
    if (this.serial >= Number.MAX_SAFE_INTEGER) throw new Error("the space has run out of fences");
    return ++this.serial;
  }

  get isQuarantined(): boolean {
    return this.now < this.quarantineUntil;
  }

  findRequest(from: string, request: string): Claim | undefined {
    const session = this.sessions.get(from);
    const requests = session === undefined ? this.scopes.get(from) : session.requests;
    return requests?.get(request);
  }

  /** Makes a claim findable by its request. */
  enterRequest(claim: Claim): void {
    const { from, request, owner } = claim;
    let requests = owner === undefined ? this.scopes.get(from) : owner.requests;
    if (requests === undefined) {
      requests = new Map();
      if (owner === undefined) this.scopes.set(from, requests);
      else owner.requests = requests;
    }
    requests.set(request, claim);
  }

  forgetRequest(claim: Claim): void {
    const { from, request } = claim;
    const requests = claim.owner?.requests ?? this.scopes.get(from);
    if (requests?.get(request) !== claim) return;
    requests.delete(request);
    if (claim.owner === undefined && requests.size === 0) this.scopes.delete(from);
  }

  countLive(claim: Claim, change: 1 | -1): void {
    if (claim.owner !== undefined) claim.owner.liveCount += change;
    else if (!claim.isOfSession) this.callerLiveCount += change;
  }

  grantWaiting(claim: Claim): void {
    (claim.latch as Latch).dequeue(claim);
    this.grant(claim);
  }

  /** The claim (in no list) becomes a holder of its key. */
  grant(claim: Claim): void {
    const latch = claim.latch as Latch;
    claim.move("grant");
    latch.holders.add(claim);
    claim.granted(this.nextSerial(), this.now);
    const { ttlMs } = claim;
    this.deadlines.set(claim, ttlMs === undefined ? Number.POSITIVE_INFINITY : this.now + ttlMs);
    this.tokens.set(claim.token, claim);
    this.touch(latch.key);
    this.store(claim);
    this.tellGranted(claim, claim, false, 1);
  }

  /** Answers an acquire with the claim that holds. `address` differs from the claim's own on re-entry. */
  tellGranted(
    claim: Claim,
    address: { readonly from: string; readonly request: string },
    reentrant: boolean,
    depth: number,
  ): void {
    const granted = {
      kind: "granted",
      to: address.from,
      request: address.request,
      key: claim.key,
      token: claim.token,
      fence: claim.fence,
      ticket: claim.ticket,
      mode: claim.mode,
      reentrant,
      depth,
    } as const;
    const { ttlMs } = claim;
    this.tell(ttlMs === undefined ? granted : { ...granted, ttlMs, expiresAt: claim.deadline });
  }

  /** A live claim is over. What waits behind it is looked at by `promote`, which the caller owes. */
  end(claim: Claim, outcome: Outcome, by?: By): void {
    const latch = claim.latch as Latch;
    const held = claim.state === "holding";
    if (held) latch.holders.remove(claim);
    else latch.dequeue(claim);
    claim.move(outcome);
    claim.by = by;
    claim.latch = undefined;
    this.touch(latch.key);
    this.deadlines.remove(claim);
    this.countLive(claim, -1);
    const ended = {
      kind: "ended",
      to: claim.from,
      request: claim.request,
      key: claim.key,
      outcome,
      held,
    } as const;
    this.tell(by === undefined ? ended : { ...ended, by });
    this.#remember(claim);
  }

  /** Takes the ended claim out of every table. */
  forget(claim: Claim): void {
    this.remembered.remove(claim);
    if (claim.wasGranted) this.tokens.delete(claim.token);
    this.forgetRequest(claim);
    this.#unstore(claim);
  }

  /**
   * Grants what can be granted at the head of the queue. A waiter whose time was over before now is not granted
   * even when a late timer lets its predecessor's end show up in the same step: whoever asked has given up.
   */
  promote(latch: Latch): void {
    for (let head = latch.head; head !== undefined; head = latch.head) {
      if (head.deadline < this.now) this.end(head, "timed_out");
      else if (head.owner !== undefined && head.owner.deadline < this.now) this.end(head, "dropped");
      else if (!this.isQuarantined && latch.admits(head.mode)) {
        this.grantWaiting(head);
      } else break;
    }
    if (latch.isFree && this.latches.get(latch.key) === latch) this.latches.delete(latch.key);
  }

  /** Lists the claim for the store, if it is to outlive the process. */
  store(claim: Claim): void {
    if (!claim.stored && !this.#isDurable(claim)) return;
    claim.stored = true;
    (this.#outbox as Outbox).change({ kind: "claim", claim });
  }

  storeSession(session: Session): void {
    if (this.persistAll || session.graceMs > 0) {
      (this.#outbox as Outbox).change({ kind: "session", session });
    }
  }

  unstoreSession(session: Session): void {
    if (this.persistAll || session.graceMs > 0) {
      (this.#outbox as Outbox).change({ kind: "session_gone", session: session.id });
    }
  }

  /**
   * A waiting claim is worth storing only when the one who waits can come back for it: a caller's connection
   * and a session without grace are gone after a restart.
   */
  #isDurable(claim: Claim): boolean {
    if (this.persistAll) return true;
    const { owner } = claim;
    if (owner !== undefined && owner.graceMs > 0) return true;
    return claim.state === "holding" && (owner === undefined || claim.isKept);
  }

  #unstore(claim: Claim): void {
    if (!claim.stored) return;
    claim.stored = false;
    (this.#outbox as Outbox).change({ kind: "claim_forgotten", ticket: claim.ticket });
  }

  #remember(claim: Claim): void {
    if (claim.abandoned) this.forgetRequest(claim);
    if (!claim.wasGranted && (claim.abandoned || claim.owner?.isEnding === true)) {
      this.forgetRequest(claim);
      this.#unstore(claim);
      return;
    }
    if (claim.stored) this.store(claim);
    this.remembered.add(claim, this.now);
    if (this.remembered.count > this.limits.endedMax) this.forget(this.remembered.first as Claim);
  }
}
