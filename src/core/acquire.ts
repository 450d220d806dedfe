/** How a claim comes about: repeats, re-entry, limits, and whether it is granted, queued or refused. */

import { Claim } from "./claim.ts";
import type { Acquire } from "./command.ts";
import type { By, RefusalCode } from "./effect.ts";
import { Latch } from "./latch.ts";
import { type LimitName, NEST_MEMORY_MAX } from "./limits.ts";
import type { State } from "./state.ts";

export function acquire(state: State, command: Acquire): void {
  const known = state.findRequest(command.from, command.request);
  if (known !== undefined) return repeat(state, known, command);
  const owner = command.session ? state.sessions.get(command.from) : undefined;
  if (command.session && owner === undefined) return refuse(state, command, "session_ended");
  if (command.token !== undefined) return reenter(state, command, command.token);

  const live = state.latches.get(command.key);
  if (live !== undefined && live.limit !== command.limit) {
    return refuse(state, command, "limit_mismatch");
  }
  const isOwnerFull =
    owner === undefined
      ? state.callerLiveCount >= state.limits.callerClaimsMax
      : owner.liveCount >= state.limits.claimsPerSessionMax;
  if (isOwnerFull) {
    return refuseLimit(state, command, owner === undefined ? "caller_claims" : "claims_per_session");
  }
  if (live === undefined && state.latches.size >= state.limits.keysMax) {
    return refuseLimit(state, command, "keys");
  }

  const latch = live ?? new Latch(command.key, command.limit);
  const isGranted = canGrant(state, latch, command);
  const isTry = command.timeoutMs === 0;
  if (!isGranted && !isTry && latch.waiting >= state.limits.waitersPerKeyMax) {
    return refuseLimit(state, command, "waiters_per_key");
  }

  const claim = new Claim(state.nextSerial(), command, owner);
  claim.latch = latch;
  if (live === undefined) state.latches.set(command.key, latch);
  state.enterRequest(claim);
  state.countLive(claim, 1);
  if (isGranted) {
    if (command.steal === true) steal(state, latch, command);
    state.grant(claim);
    return;
  }
  latch.enqueue(claim);
  if (isTry) {
    state.end(claim, "timed_out");
    // Within the quarantine a try may have been the only claim of its key.
    if (latch.isFree) state.latches.delete(latch.key);
    return;
  }
  if (command.timeoutMs !== undefined) state.deadlines.set(claim, state.now + command.timeoutMs);
  state.touch(latch.key);
  state.store(claim);
  tellQueued(state, claim, latch.waiting);
}

/** Nobody overtakes a waiter, so a free place is not enough: the queue must be empty. */
function canGrant(state: State, latch: Latch, command: Acquire): boolean {
  if (state.isQuarantined) return false;
  if (command.steal === true) return true;
  return latch.waiting === 0 && latch.admits(command.mode);
}

function steal(state: State, latch: Latch, command: Acquire): void {
  const by = whoDid(state, command.from, command.meta, command.message);
  for (let holder = latch.holders.first; holder !== undefined; holder = latch.holders.first) {
    state.end(holder, "stolen", by);
  }
}

/** The same request again: the answer was lost, or it crossed. It is the same claim, so it gets that claim's answer. */
function repeat(state: State, claim: Claim, command: Acquire): void {
  if (!isSameRequest(claim.asked, command)) return refuse(state, command, "request_mismatch");
  if (claim.state === "waiting") return tellQueued(state, claim, positionOf(claim));
  if (claim.state === "holding") return state.tellGranted(claim, command, false, claim.depth);
  const ended = {
    kind: "ended",
    to: command.from,
    request: command.request,
    key: command.key,
    outcome: outcomeOf(claim),
    held: claim.wasGranted,
    again: true,
  } as const;
  state.tell(claim.by === undefined ? ended : { ...ended, by: claim.by });
}

function reenter(state: State, command: Acquire, token: string): void {
  const claim = state.tokens.get(token);
  if (claim === undefined || claim.key !== command.key) return tellLost(state, command);
  if (claim.state === "gone") return tellLost(state, command, claim);
  if (command.nest === true) {
    const before = claim.nested?.find((nest) => nest.request === command.request && nest.from === command.from);
    if (before !== undefined) return state.tellGranted(claim, command, true, before.depth);
    if (claim.depth >= state.limits.depthMax) return refuse(state, command, "depth_limit");
    claim.depth++;
    rememberNest(claim, command);
  }
  claim.move("reenter");
  const { ttlMs } = command;
  // A claim without a finite deadline has its session as lease: nothing is longer.
  if (claim.slot !== -1 && ttlMs !== undefined && state.now + ttlMs > claim.deadline) {
    claim.ttlMs = ttlMs;
    state.deadlines.set(claim, state.now + ttlMs);
    state.touch(command.key);
  }
  state.store(claim);
  state.tellGranted(claim, command, true, claim.depth);
}

function rememberNest(claim: Claim, command: Acquire): void {
  claim.nested ??= [];
  claim.nested.push({ from: command.from, request: command.request, depth: claim.depth });
  if (claim.nested.length > NEST_MEMORY_MAX) claim.nested.shift();
}

/** Answers a command that showed a token which does not hold (any more). */
export function tellLost(
  state: State,
  command: { readonly from: string; readonly request: string; readonly key: string },
  claim?: Claim,
): void {
  const { from: to, request, key } = command;
  const reason = claim === undefined ? "unknown" : outcomeOf(claim);
  const by = claim?.by;
  state.tell(
    by === undefined ? { kind: "lost", to, request, key, reason } : { kind: "lost", to, request, key, reason, by },
  );
}

export function whoDid(state: State, from: string, meta?: string, message?: string): By {
  const session = state.sessions.get(from);
  const shown = meta ?? session?.meta;
  return {
    ...(session === undefined ? undefined : { session: session.id }),
    ...(shown === undefined ? undefined : { meta: shown }),
    ...(message === undefined ? undefined : { message }),
  };
}

function tellQueued(state: State, claim: Claim, position: number): void {
  const { from: to, request, key } = claim;
  state.tell({ kind: "queued", to, request, key, ticket: claim.ticket, position });
}

/** 1 = next. Walks the queue: only repeats and snapshots ask. */
export function positionOf(claim: Claim): number {
  let position = 1;
  for (let before = claim.previous; before !== undefined; before = before.previous) position++;
  return position;
}

function outcomeOf(claim: Claim): NonNullable<Claim["outcome"]> {
  if (claim.outcome === undefined) throw new Error("a claim that is gone has no outcome");
  return claim.outcome;
}

/** Whether two acquires under one request id are one request: all that was asked is the same, a flag that is false counting as absent. */
export function isSameRequest(a: Acquire, b: Acquire): boolean {
  return (
    a.key === b.key &&
    a.mode === b.mode &&
    a.limit === b.limit &&
    a.timeoutMs === b.timeoutMs &&
    a.ttlMs === b.ttlMs &&
    a.token === b.token &&
    (a.nest ?? false) === (b.nest ?? false) &&
    (a.steal ?? false) === (b.steal ?? false) &&
    (a.keep ?? false) === (b.keep ?? false) &&
    a.meta === b.meta &&
    a.message === b.message &&
    a.session === b.session
  );
}

export function refuse(
  state: State,
  command: { readonly from: string; readonly request: string; readonly key?: string },
  code: RefusalCode,
): void {
  const { from: to, request, key } = command;
  state.tell(key === undefined ? { kind: "refused", to, request, code } : { kind: "refused", to, request, code, key });
}

function refuseLimit(state: State, command: Acquire, limit: LimitName): void {
  const { from: to, request, key } = command;
  state.tell({ kind: "refused", to, request, code: "limit", key, limit });
}
