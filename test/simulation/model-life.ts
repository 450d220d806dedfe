import type { By, Effect, SessionEnded } from "../../src/core/effect.ts";
import type { Outcome } from "../../src/core/lifecycle.ts";
import type { EngineLimits } from "../../src/core/limits.ts";
import { leaseOf, memoryEnd, ModelSpace } from "./model-space.ts";
import type { ModelClaim } from "./model-space.ts";

export interface ModelOptions {
  readonly limits: EngineLimits;
  readonly serial: number;
  /** -Infinity: no quarantine. */
  readonly quarantineUntil: number;
  readonly persist: "outliving" | "all";
}

/** How a session ends. */
export interface Leaving {
  readonly reason: SessionEnded["reason"];
  /** Of its waiting claims. */
  readonly waiting: Outcome;
  /** Of its holding claims. */
  readonly holding: Outcome;
  /** The operator who ended it. */
  readonly by?: By;
  readonly message?: string | undefined;
}

export const DROPPED: Leaving = { reason: "dropped", waiting: "dropped", holding: "dropped" };

/** Whom an answer goes to. */
export interface Asked {
  readonly from: string;
  readonly request: string;
}

/** Something with a deadline, and what happens then. */
interface Due {
  readonly deadline: number;
  readonly order: number;
  serve(): void;
}

/** How claims and sessions move, by time or otherwise: the words `promote`, `grant`, `end` and `endSession` of RULES.md. */
export class ModelLife {
  readonly space: ModelSpace = new ModelSpace();
  readonly #options: ModelOptions;
  #serial: number;
  #now = -Infinity;
  #quarantineServed: boolean;
  #ends = 0;
  #effects: Effect[] = [];

  constructor(options: ModelOptions) {
    this.#options = options;
    this.#serial = options.serial;
    this.#quarantineServed = options.quarantineUntil === -Infinity;
  }

  get serial(): number {
    return this.#serial;
  }

  /** The time that the engine must believe, whatever it was told last. */
  get now(): number {
    return this.#now;
  }

  nextSerial(): number {
    return ++this.#serial;
  }

  /** Starts a step; what is told from here on is in the list that is returned. */
  begin(now: number): Effect[] {
    this.#now = Math.max(this.#now, now);
    this.#effects = [];
    return this.#effects;
  }

  tell(effect: Effect): void {
    this.#effects.push(effect);
  }

  isQuarantined(): boolean {
    return this.#now < this.#options.quarantineUntil;
  }

  serveDue(): void {
    for (;;) {
      const due = this.dues()
        .filter((candidate) => candidate.deadline <= this.#now)
        .sort((a, b) => a.deadline - b.deadline || a.order - b.order)[0];
      if (due === undefined) break;
      due.serve();
    }
    for (const claim of this.space.remembered()) if (claim.deadline <= this.#now) this.space.forget(claim);
  }

  /** Everything that happens by itself and that others can see. The end of a memory is not seen. */
  dues(): Due[] {
    const dues: Due[] = [];
    for (const claim of this.space.live()) {
      const outcome = claim.state === "waiting" ? "timed_out" : "expired";
      const serve = (): void => {
        this.end(claim, outcome);
        this.promote(claim.asked.key);
      };
      dues.push({ deadline: claim.deadline, order: claim.ticket, serve });
    }
    for (const session of this.space.sessions) {
      const serve = (): void => {
        for (const key of this.leave(session.id, DROPPED).keys) this.promote(key);
      };
      dues.push({ deadline: session.deadline, order: session.order, serve });
    }
    if (!this.#quarantineServed) {
      const serve = (): void => {
        this.#quarantineServed = true;
        this.promoteAll();
      };
      dues.push({ deadline: this.#options.quarantineUntil, order: 0, serve });
    }
    return dues;
  }

  promoteAll(): void {
    for (const key of this.space.waitedFor()) this.promote(key);
  }

  promote(key: string): void {
    for (;;) {
      const head = this.space.queue(key)[0];
      if (head === undefined) return;
      const session = this.space.session(head.session);
      if (head.deadline < this.#now) this.end(head, "timed_out");
      else if (session !== undefined && session.deadline < this.#now) this.end(head, "dropped");
      else if (!this.isQuarantined() && this.space.isCompatible(head.asked)) this.grant(head);
      else return;
    }
  }

  grant(claim: ModelClaim): void {
    const granted = this.space.change(claim, {
      state: "holding",
      fence: this.nextSerial(),
      grantedAt: this.#now,
      deadline: this.#now + (claim.ttlMs ?? Infinity),
      depth: 1,
      ask: undefined,
      stored: claim.durable,
    });
    this.tellGranted(granted, claim.asked, false, 1);
  }

  end(claim: ModelClaim, outcome: Outcome, by?: By, isRemembered = true): void {
    const ended = this.space.change(claim, {
      state: "gone",
      outcome,
      by,
      ask: undefined,
      deadline: memoryEnd(this.#now, claim.ttlMs),
      stored: claim.stored || (claim.durable && claim.fence > 0),
      endOrder: ++this.#ends,
    });
    this.tellEnded(ended);
    if (!isRemembered) return this.space.forget(ended);
    const remembered = this.space.remembered().sort((a, b) => a.endOrder - b.endOrder);
    if (remembered.length > this.#options.limits.endedMax) this.space.forget(remembered[0] as ModelClaim);
  }

  /** Ends a session: its waits, then its holdings, then itself. Says how many claims ended and which keys to look at. */
  leave(id: string, how: Leaving): { count: number; keys: Set<string> } {
    const mine = this.space.live().filter((claim) => claim.session === id);
    const waits = mine.filter((claim) => claim.state === "waiting");
    const holdings = mine.filter(
      (claim) => claim.state === "holding" && (how.reason === "revoked" || !claim.asked.keep),
    );
    // A wait that leaves with its session is never found again, so it takes nobody's place among the remembered.
    for (const claim of waits) this.end(claim, how.waiting, how.by, false);
    for (const claim of holdings) this.end(claim, how.holding, how.by);
    for (const claim of this.space.claims.filter((other) => other.session === id)) {
      if (claim.fence === 0) this.space.forget(claim);
      else this.space.change(claim, { session: undefined, requestKnown: false });
    }
    this.space.removeSession(id);
    const { reason, message } = how;
    this.tell({ kind: "session_ended", to: id, reason, ...(message !== undefined && { message }) });
    const ended = [...waits, ...holdings];
    return { count: ended.length, keys: new Set(ended.map((claim) => claim.asked.key)) };
  }

  /** So many claims of an image had ended before this start. */
  countEnds(ends: number): void {
    this.#ends = ends;
  }

  tellQueued(claim: ModelClaim): void {
    const { key } = claim.asked;
    const position = this.space.position(claim);
    this.tell({ kind: "queued", ...addressOf(claim.asked), key, ticket: claim.ticket, position });
  }

  tellGranted(claim: ModelClaim, asked: Asked, reentrant: boolean, depth: number): void {
    const { fence, ticket } = claim;
    const { key, mode, newToken: token } = claim.asked;
    const what = { key, token, fence, ticket, mode, reentrant, depth, ...leaseOf(claim) };
    this.tell({ kind: "granted", ...addressOf(asked), ...what });
  }

  tellEnded(claim: ModelClaim, again?: true): void {
    const { asked, outcome, by } = claim;
    if (outcome === undefined) throw new Error(`claim ${claim.ticket} has not ended`);
    this.tell({
      kind: "ended",
      ...addressOf(asked),
      key: asked.key,
      outcome,
      held: claim.fence > 0,
      ...(by && { by }),
      ...(again && { again }),
    });
  }

  tellLost(claim: ModelClaim | undefined, asked: Asked & { readonly key: string }): void {
    const reason = claim?.outcome ?? "unknown";
    const by = claim?.by;
    this.tell({ kind: "lost", ...addressOf(asked), key: asked.key, reason, ...(by && { by }) });
  }
}

export function addressOf(asked: Asked): { to: string; request: string } {
  return { to: asked.from, request: asked.request };
}
