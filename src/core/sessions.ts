/** How sessions begin, change their connection, and end with all that they hold. */

import { positionOf, whoDid } from "./acquire.ts";
import type { Claim } from "./claim.ts";
import type { Bye, Drop, Open, Resume, RevokeSession } from "./command.ts";
import type { By, ClaimSnapshot, SessionEnded } from "./effect.ts";
import type { Latch } from "./latch.ts";
import type { Outcome } from "./lifecycle.ts";
import { Session } from "./session.ts";
import type { State } from "./state.ts";

export function open(state: State, command: Open): void {
  const { session: id, secret, graceMs, meta, user } = command;
  if (state.sessions.has(id)) throw new Error("a session id was minted twice");
  if (state.sessions.size >= state.limits.sessionsMax) {
    state.tell({ kind: "refused", to: id, request: "", code: "limit", limit: "sessions" });
    return;
  }
  const session = new Session({ id, secret, graceMs, meta, user, order: state.nextSerial() });
  state.sessions.set(id, session);
  state.storeSession(session);
  state.tell({ kind: "opened", to: id });
}

export function resume(state: State, command: Resume): void {
  const session = state.sessions.get(command.session);
  // One answer for both mistakes, so that nobody learns which ids exist.
  if (session === undefined || session.secret !== command.secret) {
    state.tell({ kind: "refused", to: command.session, request: "", code: "session_ended" });
    return;
  }
  state.deadlines.set(session, Number.POSITIVE_INFINITY);
  state.storeSession(session);
  state.tell({ kind: "resumed", to: session.id, graceMs: session.graceMs, claims: snapshot(session) });
}

export function drop(state: State, command: Drop): void {
  const session = state.sessions.get(command.session);
  if (session === undefined) return;
  if (session.graceMs === 0) return lose(state, session);
  if (session.slot !== -1) return;
  state.deadlines.set(session, state.now + session.graceMs);
  state.storeSession(session);
}

/** The connection is gone for good. */
export function lose(state: State, session: Session): void {
  const touched = endSession(state, session, "dropped", "dropped", { reason: "dropped" });
  for (const latch of touched) state.promote(latch);
}

export function bye(state: State, command: Bye): void {
  const session = state.sessions.get(command.session);
  if (session === undefined) return;
  const touched = endSession(state, session, "cancelled", "released", { reason: "bye" });
  for (const latch of touched) state.promote(latch);
}

export function revokeSession(state: State, command: RevokeSession): void {
  const { from: to, request, message } = command;
  const session = state.sessions.get(command.session);
  if (session === undefined) {
    state.tell({ kind: "revoked", to, request, count: 0 });
    return;
  }
  const count = session.liveCount;
  const reason = { reason: "revoked", ...(message === undefined ? undefined : { message }) } as const;
  const by = whoDid(state, command.from, undefined, message);
  const touched = endSession(state, session, "revoked", "revoked", reason, by);
  state.tell({ kind: "revoked", to, request, count });
  for (const latch of touched) state.promote(latch);
}

/**
 * Waiting claims leave first, then the holdings end: the other way round a key could be handed to the very session
 * that is leaving. Promotion is the caller's, after everything is out, for the keys that come back.
 */
function endSession(
  state: State,
  session: Session,
  waiting: Outcome,
  holding: Outcome,
  why: Pick<SessionEnded, "reason" | "message">,
  by?: By,
): Set<Latch> {
  const touched = new Set<Latch>();
  session.isEnding = true;
  const claims = claimsOf(session);
  for (const claim of claims) {
    if (claim.state === "waiting") endTouching(state, claim, waiting, touched, by);
  }
  for (const claim of claims) {
    if (claim.state !== "holding") continue;
    if (claim.isKept && why.reason !== "revoked") detach(state, claim);
    else endTouching(state, claim, holding, touched, by);
  }
  for (const claim of claimsOf(session)) {
    if (!claim.wasGranted) state.forget(claim);
  }
  session.requests = undefined;
  state.deadlines.remove(session);
  state.sessions.delete(session.id);
  state.unstoreSession(session);
  state.tell({ kind: "session_ended", to: session.id, ...why });
  return touched;
}

function endTouching(state: State, claim: Claim, outcome: Outcome, touched: Set<Latch>, by: By | undefined): void {
  touched.add(claim.latch as Latch);
  state.end(claim, outcome, by);
}

/** A kept lock goes on without its session. */
function detach(state: State, claim: Claim): void {
  state.forgetRequest(claim);
  state.countLive(claim, -1);
  claim.detach();
  state.touch(claim.key);
  state.store(claim);
}

function snapshot(session: Session): ClaimSnapshot[] {
  return claimsOf(session).map((claim) => snapshotOf(claim));
}

function claimsOf(session: Session): readonly Claim[] {
  return session.requests === undefined ? [] : [...session.requests.values()];
}

function snapshotOf(claim: Claim): ClaimSnapshot {
  const { ticket, request, key, mode, state, outcome } = claim;
  const common = { request, key, state, mode, ticket };
  if (state === "waiting") return { ...common, position: positionOf(claim) };
  if (state === "gone") return outcome === undefined ? common : { ...common, outcome };
  const held = { ...common, token: claim.token, fence: claim.fence, depth: claim.depth };
  const { ttlMs } = claim;
  return ttlMs === undefined ? held : { ...held, ttlMs, expiresAt: claim.deadline };
}
