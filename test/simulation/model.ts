import type {
  Acquire,
  Ask,
  Cancel,
  Extend,
  Hand,
  List,
  LockCommand,
  Open,
  Release,
  Resume,
  RevokeKey,
  RevokeSession,
} from "../../src/core/command.ts";
import type { Effect, RefusalCode } from "../../src/core/effect.ts";
import type { LimitName } from "../../src/core/limits.ts";
import type { Image, SessionRecord } from "../../src/core/record.ts";
import { NEST_MEMORY_MAX } from "../../src/core/limits.ts";
import { addressOf, DROPPED, ModelLife } from "./model-life.ts";
import type { Asked, Leaving, ModelOptions } from "./model-life.ts";
import { isSameAsked } from "./model-space.ts";
import type { ModelClaim, ModelSpace } from "./model-space.ts";

const BYE: Leaving = { reason: "bye", waiting: "cancelled", holding: "released" };

/**
 * The oracle: RULES.md of the core, written down a second time in the plainest way. It predicts every effect of every
 * command. Nothing is shared with the engine but the types and constants of the contract.
 */
export class Model {
  readonly space: ModelSpace;
  readonly #life: ModelLife;
  readonly #options: ModelOptions;

  constructor(options: ModelOptions) {
    this.#options = options;
    this.#life = new ModelLife(options);
    this.space = this.#life.space;
  }

  get serial(): number {
    return this.#life.serial;
  }

  get now(): number {
    return this.#life.now;
  }

  isQuarantined(): boolean {
    return this.#life.isQuarantined();
  }

  /** When something happens by itself that others can see. */
  nextDeadline(): number {
    return this.#life.dues().reduce((least, due) => Math.min(least, due.deadline), Infinity);
  }

  /** What a store must contain now. */
  image(): { claims: ModelClaim[]; sessions: SessionRecord[] } {
    return {
      claims: this.space.claims.filter((claim) => claim.stored),
      sessions: this.space.sessions.filter((session) => this.#options.persist === "all" || session.graceMs > 0),
    };
  }

  /** Takes a stored image back. The order of its records means nothing. */
  restore(image: Image, now: number): Effect[] {
    const effects = this.#life.begin(now);
    for (const session of image.sessions) this.space.putSession(session);
    // An image does not say what ended first: arrival stands in for it.
    const ended = image.claims.filter((claim) => claim.state === "gone").sort((a, b) => a.ticket - b.ticket);
    for (const claim of image.claims) {
      const session = this.space.session(claim.session)?.id;
      const requestKnown = !claim.abandoned && (session !== undefined || !claim.asked.session);
      const endOrder = ended.indexOf(claim) + 1;
      this.space.put({ ...claim, session, requestKnown, durable: true, stored: true, endOrder });
    }
    this.#life.countEnds(ended.length);
    this.#life.serveDue();
    this.#life.promoteAll();
    return effects;
  }

  step(command: LockCommand, now: number): Effect[] {
    const effects = this.#life.begin(now);
    this.#life.serveDue();
    this.#obey(command);
    return effects;
  }

  #obey(command: LockCommand): void {
    switch (command.kind) {
      case "open":
        return this.#open(command);
      case "resume":
        return this.#resume(command);
      case "drop":
        return this.#drop(command.session);
      case "bye":
        return this.#leave(command.session, BYE);
      case "acquire":
        return this.#acquire(command);
      case "cancel":
        return this.#cancel(command);
      case "extend":
        return this.#extend(command);
      case "release":
        return this.#release(command);
      case "hand":
        return this.#hand(command);
      case "ask":
        return this.#ask(command);
      case "revoke_key":
        return this.#revokeKey(command);
      case "revoke_session":
        return this.#revokeSession(command);
      case "status":
        return this.#life.tell({
          kind: "status",
          ...addressOf(command),
          ...this.space.status(command.key, command.of),
        });
      case "list":
        return this.#list(command);
      case "tick":
    }
  }

  #open(command: Open): void {
    const { session: id, secret, graceMs, meta, user } = command;
    if (this.space.session(id)) throw new Error(`session ${id} is opened twice`);
    if (this.space.sessions.length >= this.#options.limits.sessionsMax) {
      return this.#life.tell({ kind: "refused", to: id, request: "", code: "limit", limit: "sessions" });
    }
    this.space.putSession({ id, secret, graceMs, meta, user, order: this.#life.nextSerial(), deadline: Infinity });
    this.#life.tell({ kind: "opened", to: id });
  }

  #resume(command: Resume): void {
    const session = this.space.session(command.session);
    if (session === undefined || session.secret !== command.secret) {
      return this.#life.tell({ kind: "refused", to: command.session, request: "", code: "session_ended" });
    }
    this.space.putSession({ ...session, deadline: Infinity });
    // An abandoned claim is not shown: its request id may by now be that of a fresh one.
    const claims = this.space.claims.filter((claim) => claim.session === session.id && claim.requestKnown);
    const { id: to, graceMs } = session;
    this.#life.tell({ kind: "resumed", to, graceMs, claims: claims.map((claim) => this.space.snapshot(claim)) });
  }

  #drop(id: string): void {
    const session = this.space.session(id);
    if (session === undefined) return;
    if (session.graceMs === 0) this.#leave(id, DROPPED);
    else if (session.deadline === Infinity) {
      this.space.putSession({ ...session, deadline: this.now + session.graceMs });
    }
  }

  #leave(id: string, how: Leaving): void {
    if (this.space.session(id) === undefined) return;
    for (const key of this.#life.leave(id, how).keys) this.#life.promote(key);
  }

  #acquire(command: Acquire): void {
    const { space } = this;
    const { limits } = this.#options;
    const { key } = command;
    const known = space.byRequest(command.from, command.request);
    if (known) return this.#repeat(known, command);
    if (command.session && !space.session(command.from)) return this.#refuse(command, "session_ended");
    if (command.token !== undefined) return this.#reenter(space.byToken(command.token), command);

    const isLive = space.liveKeys().includes(key);
    if (isLive && space.limitOf(key) !== command.limit) return this.#refuse(command, "limit_mismatch");

    const own = space.live().filter((claim) => claim.session === command.from).length;
    const callers = space.live().filter((claim) => !claim.asked.session).length;
    if (command.session && own >= limits.claimsPerSessionMax) return this.#refuseAt("claims_per_session", command);
    if (!command.session && callers >= limits.callerClaimsMax) return this.#refuseAt("caller_claims", command);
    if (!isLive && space.liveKeys().length >= limits.keysMax) return this.#refuseAt("keys", command);

    const isOpen = !this.isQuarantined();
    const steals = isOpen && command.steal === true;
    const isNext = isOpen && space.queue(key).length === 0 && space.isCompatible(command);
    const waits = !steals && !isNext && command.timeoutMs !== 0;
    if (waits && space.queue(key).length >= limits.waitersPerKeyMax) return this.#refuseAt("waiters_per_key", command);

    const losers = steals ? space.holders(key) : [];
    const claim = this.#newClaim(command, waits);
    const thief = this.space.by(command.from, command.message, command.meta);
    for (const loser of losers) this.#life.end(loser, "stolen", thief);
    if (steals || isNext) this.#life.grant(claim);
    else if (waits) this.#life.tellQueued(claim);
    else this.#life.end(claim, "timed_out");
  }

  /** A claim at the end of its queue. */
  #newClaim(asked: Acquire, waits: boolean): ModelClaim {
    const isAllStored = this.#options.persist === "all";
    const session = asked.session ? this.space.session(asked.from) : undefined;
    const outlives = session === undefined || asked.keep === true || session.graceMs > 0;
    const durable = isAllStored || outlives;
    const claim: ModelClaim = {
      ticket: this.#life.nextSerial(),
      asked,
      session: session?.id,
      state: "waiting",
      deadline: this.now + (asked.timeoutMs ?? Infinity),
      fence: 0,
      grantedAt: 0,
      ttlMs: asked.ttlMs,
      depth: 0,
      outcome: undefined,
      by: undefined,
      nested: undefined,
      unnested: undefined,
      ask: undefined,
      abandoned: false,
      requestKnown: true,
      durable,
      // The waits of callers and of sessions without a grace end with the process.
      stored: waits && (isAllStored || (session?.graceMs ?? 0) > 0),
      endOrder: 0,
    };
    this.space.put(claim);
    return claim;
  }

  #repeat(known: ModelClaim, command: Acquire): void {
    if (!isSameAsked(known.asked, command)) return this.#refuse(command, "request_mismatch");
    if (known.state === "waiting") this.#life.tellQueued(known);
    else if (known.state === "holding") this.#life.tellGranted(known, command, false, known.depth);
    else this.#life.tellEnded(known, true);
  }

  #reenter(owner: ModelClaim | undefined, command: Acquire): void {
    if (owner === undefined || owner.asked.key !== command.key) return this.#life.tellLost(undefined, command);
    if (owner.state === "gone") return this.#life.tellLost(owner, command);
    let claim = owner;
    if (command.nest) {
      const { from, request } = command;
      const earlier = claim.nested?.find((nest) => nest.from === from && nest.request === request);
      if (earlier) return this.#life.tellGranted(claim, command, true, earlier.depth);
      if (claim.depth >= this.#options.limits.depthMax) return this.#refuse(command, "depth_limit");
      const depth = claim.depth + 1;
      const nested = [...(claim.nested ?? []), { from, request, depth }].slice(-NEST_MEMORY_MAX);
      claim = this.space.change(claim, { depth, nested });
    }
    const { ttlMs } = command;
    if (claim.deadline !== Infinity && ttlMs !== undefined && this.now + ttlMs > claim.deadline) {
      claim = this.space.change(claim, { deadline: this.now + ttlMs, ttlMs });
    }
    this.#life.tellGranted(claim, command, true, claim.depth);
  }

  #cancel(command: Cancel): void {
    const claim = this.space.byRequest(command.from, command.request);
    if (claim === undefined || claim.state === "gone") return;
    const isFoundAgain = !command.forget || claim.fence > 0;
    this.#life.end(claim, "cancelled", undefined, isFoundAgain);
    const ended = this.space.byRequest(command.from, command.request);
    if (command.forget && ended) this.space.change(ended, { requestKnown: false, abandoned: true });
    this.#life.promote(claim.asked.key);
  }

  #extend(command: Extend): void {
    const claim = this.space.byToken(command.token);
    if (claim === undefined || claim.asked.key !== command.key) return this.#refuse(command, "unknown_token");
    if (claim.state === "gone") return this.#life.tellLost(claim, command);
    const { key, token, ttlMs } = command;
    const expiresAt = this.now + ttlMs;
    this.space.change(claim, { ttlMs, deadline: expiresAt });
    this.#life.tell({ kind: "extended", ...addressOf(command), key, token, fence: claim.fence, ttlMs, expiresAt });
  }

  #release(command: Release): void {
    const claim = this.space.byToken(command.token);
    const { from, request, key } = command;
    if (claim === undefined || claim.asked.key !== key) return this.#refuse(command, "unknown_token");
    if (claim.state === "gone") {
      const isFree = claim.outcome === "released" || claim.outcome === "cancelled";
      return isFree ? this.#tellReleased(command, 0, true) : this.#life.tellLost(claim, command);
    }
    const { unnested } = claim;
    if (unnested?.from === from && unnested.request === request) {
      return this.#tellReleased(command, unnested.depth, true);
    }
    if (claim.depth > 1) {
      const depth = claim.depth - 1;
      this.space.change(claim, { depth, unnested: { from, request, depth } });
      return this.#tellReleased(command, depth, false);
    }
    this.#life.end(claim, "released", claim.asked.from === from ? undefined : this.space.by(from));
    this.#life.promote(key);
    this.#tellReleased(command, 0, false);
  }

  #hand(command: Hand): void {
    const claim = this.space.byToken(command.token);
    const { from, key } = command;
    if (claim === undefined || claim.asked.key !== key) return this.#refuse(command, "unknown_token");
    if (claim.state === "gone") {
      const isFree = claim.outcome === "released" || claim.outcome === "cancelled";
      return isFree ? this.#tellReleased(command, 0, true) : this.#life.tellLost(claim, command);
    }
    const heir = this.space.queue(key).find(({ session }) => session === command.to);
    if (heir === undefined) return this.#refuse(command, "not_waiting");
    const isCompatible = !this.isQuarantined() && this.space.isCompatible(heir.asked, claim);
    if (!isCompatible) return this.#refuse(command, "shared_holders");
    this.#life.end(claim, "released", claim.asked.from === from ? undefined : this.space.by(from));
    this.#life.grant(heir);
    this.#life.promote(key);
    this.#tellReleased(command, 0, false);
  }

  #ask(command: Ask): void {
    const { from, claim: request, message, withdraw } = command;
    const claim = this.space.byRequest(from, request);
    if (claim?.state !== "waiting") {
      return this.#life.tell({ kind: "refused", ...addressOf(command), code: "not_waiting" });
    }
    const isSame = claim.ask !== undefined && claim.ask.message === message;
    const fresh = { ...(message !== undefined && { message }), since: this.now };
    this.space.change(claim, { ask: withdraw ? undefined : isSame ? claim.ask : fresh });
    this.#life.tell({ kind: "asked", ...addressOf(command) });
  }

  #revokeKey(command: RevokeKey): void {
    const holders = this.space.holders(command.key);
    const operator = this.space.by(command.from, command.message);
    for (const holder of holders) this.#life.end(holder, "revoked", operator);
    this.#life.tell({ kind: "revoked", ...addressOf(command), count: holders.length });
    this.#life.promote(command.key);
  }

  #revokeSession(command: RevokeSession): void {
    const { message, session } = command;
    const by = this.space.by(command.from, message);
    const how: Leaving = { reason: "revoked", waiting: "revoked", holding: "revoked", by, message };
    const isKnown = this.space.session(session) !== undefined;
    const left = isKnown ? this.#life.leave(session, how) : { count: 0, keys: [] };
    this.#life.tell({ kind: "revoked", ...addressOf(command), count: left.count });
    for (const key of left.keys) this.#life.promote(key);
  }

  #list(command: List): void {
    const { prefix, after, countMax, of } = command;
    const keys = this.space
      .liveKeys()
      .filter((key) => key.startsWith(prefix) && (after === undefined || key > after))
      .sort();
    const shown = keys.slice(0, countMax).map((key) => ({
      ...this.space.status(key, of),
      ...(command.queue && { queue: this.space.queueTold(key) }),
    }));
    this.#life.tell({ kind: "list", ...addressOf(command), keys: shown, more: keys.length > countMax });
  }

  #tellReleased(command: Release | Hand, depth: number, already: boolean): void {
    this.#life.tell({ kind: "released", ...addressOf(command), key: command.key, depth, already });
  }

  #refuse(asked: Asked & { readonly key: string }, code: RefusalCode): void {
    this.#life.tell({ kind: "refused", ...addressOf(asked), code, key: asked.key });
  }

  #refuseAt(limit: LimitName, asked: Asked & { readonly key: string }): void {
    this.#life.tell({ kind: "refused", ...addressOf(asked), code: "limit", key: asked.key, limit });
  }
}
