import type { Acquire } from "../../src/core/command.ts";
import type { Asking, By, ClaimSnapshot, Holder, KeyStatus, Place, Waiting } from "../../src/core/effect.ts";
import { ASKS_TOLD_MAX, MEMORY_MS, QUEUE_TOLD_MAX } from "../../src/core/limits.ts";
import type { ClaimRecord, SessionRecord } from "../../src/core/record.ts";

/** A claim as the model sees it: what a store knows, and what only the process knows. Never changed, only replaced. */
export interface ModelClaim extends ClaimRecord {
  /** Whether the claim may be found by its `from` and `request`. */
  readonly requestKnown: boolean;
  /** Whether the claim may be stored at all. */
  readonly durable: boolean;
  /** Whether a store was told of the claim. */
  readonly stored: boolean;
  /** Place in the order of endings; 0 while it lives. */
  readonly endOrder: number;
}

/**
 * What the model knows, as two plain lists, and every question that one can ask of them. Each answer is found by looking at
 * everything: slow and obviously right. Changes replace an item by a changed copy.
 */
export class ModelSpace {
  /** In ticket order, ended ones that are remembered included. */
  claims: readonly ModelClaim[] = [];
  /** In order of arrival. */
  sessions: readonly SessionRecord[] = [];

  put(claim: ModelClaim): void {
    const others = this.claims.filter((other) => other.ticket !== claim.ticket);
    this.claims = [...others, claim].sort((a, b) => a.ticket - b.ticket);
  }

  change(claim: ModelClaim, changes: Partial<ModelClaim>): ModelClaim {
    const changed = { ...claim, ...changes };
    this.claims = this.claims.map((other) => (other.ticket === claim.ticket ? changed : other));
    return changed;
  }

  forget(claim: ModelClaim): void {
    this.claims = this.claims.filter((other) => other.ticket !== claim.ticket);
  }

  putSession(session: SessionRecord): void {
    const others = this.sessions.filter((other) => other.id !== session.id);
    this.sessions = [...others, session].sort((a, b) => a.order - b.order);
  }

  removeSession(id: string): void {
    this.sessions = this.sessions.filter((other) => other.id !== id);
  }

  session(id: string | undefined): SessionRecord | undefined {
    return this.sessions.find((session) => session.id === id);
  }

  byRequest(from: string, request: string): ModelClaim | undefined {
    return this.claims.find(
      (claim) => claim.requestKnown && claim.asked.from === from && claim.asked.request === request,
    );
  }

  /** By token: only what was granted at some time has one. */
  byToken(token: string): ModelClaim | undefined {
    return this.claims.find((claim) => claim.fence > 0 && claim.asked.newToken === token);
  }

  live(): ModelClaim[] {
    return this.claims.filter((claim) => claim.state !== "gone");
  }

  remembered(): ModelClaim[] {
    return this.claims.filter((claim) => claim.state === "gone");
  }

  /** The waiting claims of a key, in order of arrival. */
  queue(key: string): ModelClaim[] {
    return this.claims.filter((claim) => claim.asked.key === key && claim.state === "waiting");
  }

  /** The holding claims of a key, in order of grant. */
  holders(key: string): ModelClaim[] {
    return this.claims
      .filter((claim) => claim.asked.key === key && claim.state === "holding")
      .sort((a, b) => a.fence - b.fence);
  }

  liveKeys(): string[] {
    return [...new Set(this.live().map((claim) => claim.asked.key))];
  }

  /** Keys with waiters, by the ticket of the first one. */
  waitedFor(): string[] {
    return [...new Set(this.claims.filter((claim) => claim.state === "waiting").map((claim) => claim.asked.key))];
  }

  /** The limit that the first live claim of a key has set. */
  limitOf(key: string): number | undefined {
    return this.live().find((claim) => claim.asked.key === key)?.asked.limit;
  }

  /** `without`: one who holds and is about to let go. */
  isCompatible(asked: Acquire, without?: ModelClaim): boolean {
    const holders = this.holders(asked.key).filter((holder) => holder.ticket !== without?.ticket);
    if (asked.mode === "exclusive") return holders.length === 0;
    const limit = this.limitOf(asked.key) ?? Infinity;
    return holders.every((holder) => holder.asked.mode === "shared") && holders.length < limit;
  }

  /** `of`: sessions whose places in the queue are wanted. */
  status(key: string, of: readonly string[] = []): KeyStatus {
    const limit = this.limitOf(key);
    const holders = this.holders(key).map((claim): Holder => {
      const meta = claim.asked.meta ?? this.session(claim.session)?.meta;
      const user = this.session(claim.session)?.user;
      return {
        ...(claim.session !== undefined && { session: claim.session }),
        ...(user !== undefined && { user }),
        mode: claim.asked.mode,
        fence: claim.fence,
        since: claim.grantedAt,
        ...(claim.deadline !== Infinity && { expiresAt: claim.deadline }),
        ...(meta !== undefined && { meta }),
      };
    });
    const asks = this.asks(key);
    const places = this.#places(key).filter(({ session }) => of.includes(session));
    return {
      key,
      holders,
      waiting: this.queue(key).length,
      ...(asks.length > 0 && { asks }),
      ...(limit !== undefined && { limit }),
      ...(places.length > 0 && { places }),
    };
  }

  /** All that a status of each live key can tell, as text: whoever waits, in order, included. */
  shown(): Map<string, string> {
    return new Map(
      this.liveKeys().map((key) => [
        key,
        JSON.stringify([this.status(key), this.queue(key).map((claim) => claim.ticket)]),
      ]),
    );
  }

  #places(key: string): Place[] {
    const places = this.queue(key).map(({ session = "" }, i) => ({ session, position: i + 1 }));
    return places.filter(({ session }, i) => places.findIndex((other) => other.session === session) === i);
  }

  queueTold(key: string): Waiting[] {
    const all = this.queue(key).map(({ session, asked: { mode } }) => ({
      ...(session !== undefined && { session }),
      mode,
    }));
    return all.slice(0, QUEUE_TOLD_MAX);
  }

  /** Who waits for a key and asks for it, in order of arrival. */
  asks(key: string): Asking[] {
    const asks = this.queue(key).flatMap(({ asked, session: id, ask }) => {
      const session = this.session(id);
      const meta = asked.meta ?? session?.meta;
      const who = {
        ...(id !== undefined && { session: id }),
        ...(session?.user !== undefined && { user: session.user }),
      };
      return ask === undefined ? [] : [{ ...who, ...ask, ...(meta !== undefined && { meta }) }];
    });
    return asks.slice(0, ASKS_TOLD_MAX);
  }

  snapshot(claim: ModelClaim): ClaimSnapshot {
    const { asked, state, ticket } = claim;
    const common = { request: asked.request, key: asked.key, state, mode: asked.mode, ticket };
    if (state === "waiting") return { ...common, position: this.position(claim) };
    if (state === "gone") return { ...common, ...(claim.outcome && { outcome: claim.outcome }) };
    return { ...common, token: asked.newToken, fence: claim.fence, depth: claim.depth, ...leaseOf(claim) };
  }

  /** 1 = next. */
  position(claim: ModelClaim): number {
    return this.queue(claim.asked.key).findIndex((other) => other.ticket === claim.ticket) + 1;
  }

  /** Who ends somebody else's claim, as its owner is told. */
  by(from: string, message?: string, shown?: string): By {
    const session = this.session(from);
    const meta = shown ?? session?.meta;
    return {
      ...(session && { session: session.id }),
      ...(meta !== undefined && { meta }),
      ...(message !== undefined && { message }),
    };
  }
}

/** The lease as answers show it: properties without a value are absent. */
export function leaseOf(claim: ModelClaim): { ttlMs?: number; expiresAt?: number } {
  return {
    ...(claim.ttlMs !== undefined && { ttlMs: claim.ttlMs }),
    ...(claim.deadline !== Infinity && { expiresAt: claim.deadline }),
  };
}

/** When an ended claim is forgotten. */
export function memoryEnd(now: number, ttlMs: number | undefined): number {
  return Math.ceil((now + Math.max(2 * (ttlMs ?? 0), MEMORY_MS)) / 1000) * 1000;
}

/** Whether two acquires ask for the same; the token that was minted for the answer does not count. */
export function isSameAsked(a: Acquire, b: Acquire): boolean {
  return (
    a.from === b.from &&
    a.request === b.request &&
    a.session === b.session &&
    a.key === b.key &&
    a.mode === b.mode &&
    a.limit === b.limit &&
    a.timeoutMs === b.timeoutMs &&
    a.ttlMs === b.ttlMs &&
    a.token === b.token &&
    isSet(a.nest) === isSet(b.nest) &&
    isSet(a.steal) === isSet(b.steal) &&
    isSet(a.keep) === isSet(b.keep) &&
    a.meta === b.meta &&
    a.message === b.message
  );
}

/** False says the same as nothing. */
function isSet(flag: boolean | undefined): boolean {
  return flag === true;
}
