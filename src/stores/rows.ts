/**
 * Records as JSON text and back. JSON.stringify escapes lone surrogates and NUL, so every key survives and two different
 * keys stay different, which they would not as bound text. Instants are kept in wall time, since engine time
 * starts anew with each process; Infinity is null. A wall clock that was set forward between two starts ends leases
 * early: nothing here can tell it from time that has passed.
 */

import type { ClaimState } from "../core/lifecycle.ts";
import { MEMORY_MS } from "../core/limits.ts";
import type { AskRecord, ClaimRecord, NestRecord, SessionRecord } from "../core/record.ts";
import type { Clock } from "../host/ports.ts";
import { StoreError } from "./error.ts";

const CLAIM_STATES: ReadonlySet<unknown> = new Set<ClaimState>(["waiting", "holding", "gone"]);

/** What a row's text may turn out to hold. */
type Stored = { [Field in keyof ClaimRecord | keyof SessionRecord]?: unknown };

export function writeClaim(claim: ClaimRecord, clock: Clock): string {
  return JSON.stringify({
    asked: claim.asked,
    session: claim.session,
    state: claim.state,
    deadline: toWall(claim.deadline, clock),
    fence: claim.fence,
    grantedAt: claim.fence === 0 ? null : toWall(claim.grantedAt, clock),
    ttlMs: claim.ttlMs,
    depth: claim.depth,
    outcome: claim.outcome,
    by: claim.by,
    nested: claim.nested,
    abandoned: claim.abandoned,
    unnested: claim.unnested,
    ask: claim.ask && { ...claim.ask, since: toWall(claim.ask.since, clock) },
  });
}

export function readClaim(ticket: unknown, text: unknown, clock: Clock): ClaimRecord {
  const stored = parse(text);
  const asked = stored.asked as ClaimRecord["asked"] | undefined;
  check(typeof ticket === "number" && Number.isSafeInteger(ticket));
  check(asked?.kind === "acquire" && isText(asked.from) && isText(asked.request) && isText(asked.newToken));
  check(isText(asked.key) && (asked.mode === "exclusive" || asked.mode === "shared"));
  check(CLAIM_STATES.has(stored.state) && (stored.outcome === undefined) === (stored.state !== "gone"));
  check(isNumber(stored.fence) && isNumber(stored.depth) && typeof stored.abandoned === "boolean");
  check(stored.deadline === null || isNumber(stored.deadline));
  check(stored.grantedAt === null || isNumber(stored.grantedAt));
  check(isOptional(stored.ttlMs, isNumber) && isOptional(stored.session, isText));
  check(isOptional(stored.unnested, isNest) && isOptional(stored.nested, isNests));
  check(isOptional(stored.ask, isAsk));

  const state = stored.state as ClaimState;
  const ttlMs = stored.ttlMs;
  return {
    ticket,
    asked,
    session: stored.session,
    state,
    deadline: toEngine(stored.deadline, leftMax(state, ttlMs, asked.timeoutMs), clock),
    fence: stored.fence,
    grantedAt: stored.grantedAt === null ? 0 : stored.grantedAt - clock.wall() + clock.now(),
    ttlMs,
    depth: stored.depth,
    outcome: stored.outcome as ClaimRecord["outcome"],
    by: stored.by as ClaimRecord["by"],
    nested: stored.nested,
    abandoned: stored.abandoned,
    unnested: stored.unnested,
    ask: stored.ask && { ...stored.ask, since: stored.ask.since - clock.wall() + clock.now() },
  };
}

export function writeSession(session: SessionRecord, clock: Clock): string {
  return JSON.stringify({
    id: session.id,
    secret: session.secret,
    graceMs: session.graceMs,
    meta: session.meta,
    user: session.user,
    order: session.order,
    deadline: toWall(session.deadline, clock),
  });
}

export function readSession(id: unknown, text: unknown, clock: Clock): SessionRecord {
  const stored = parse(text);
  check(isText(id) && stored.id === id && isText(stored.secret) && isOptional(stored.meta, isText));
  check(isOptional(stored.user, isText));
  check(isNumber(stored.graceMs) && isNumber(stored.order));
  check(stored.deadline === null || isNumber(stored.deadline));
  return {
    id,
    secret: stored.secret,
    graceMs: stored.graceMs,
    meta: stored.meta,
    user: stored.user,
    order: stored.order,
    deadline: toEngine(stored.deadline, stored.graceMs, clock),
  };
}

/**
 * Rounded up and one more, because a wall clock in whole ms lags by up to one: a lease may last some ms longer over a
 * restart, but never ends early.
 */
export function toWall(instant: number, clock: Clock): number | null {
  if (clock.isWall === true) return instant === Number.POSITIVE_INFINITY ? null : instant;
  return instant === Number.POSITIVE_INFINITY ? null : Math.ceil(instant - clock.now() + clock.wall()) + 1;
}

/** Nothing has more left than it could have been given, so a wall clock that was set back keeps no key locked for long. */
export function toEngine(wall: number | null, leftMaxMs: number, clock: Clock): number {
  return wall === null ? Number.POSITIVE_INFINITY : clock.now() + Math.min(wall - clock.wall(), leftMaxMs);
}

function leftMax(state: ClaimState, ttlMs = Number.POSITIVE_INFINITY, timeoutMs = Number.POSITIVE_INFINITY): number {
  switch (state) {
    case "waiting":
      return timeoutMs;
    case "holding":
      return ttlMs;
    case "gone":
      return Math.max(ttlMs === Number.POSITIVE_INFINITY ? 0 : 2 * ttlMs, MEMORY_MS) + 1000;
  }
}

export function parse(text: unknown): Stored {
  const value: unknown = typeof text === "string" ? JSON.parse(text) : undefined;
  check(typeof value === "object" && value !== null);
  return value;
}

export function check(holds: boolean): asserts holds {
  if (!holds) throw new StoreError("damaged", "a field is missing or of a wrong type");
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

export function isOptional<T>(value: unknown, is: (value: unknown) => value is T): value is T | undefined {
  return value === undefined || is(value);
}

function isNest(value: unknown): value is NestRecord {
  const nest = value as NestRecord | null;
  return typeof nest === "object" && nest !== null && isText(nest.from) && isText(nest.request) && isNumber(nest.depth);
}

function isAsk(value: unknown): value is AskRecord {
  const ask = value as AskRecord | null;
  return typeof ask === "object" && ask !== null && isNumber(ask.since) && isOptional(ask.message, isText);
}

function isNests(value: unknown): value is NestRecord[] {
  return Array.isArray(value) && value.every(isNest);
}
