/** Records, batches and a clock for the tests of stores. */

import type { Acquire } from "../../src/core/command.ts";
import type { Change, ClaimRecord, SessionRecord } from "../../src/core/record.ts";
import type { Batch, Clock } from "../../src/host/ports.ts";

/** A process's clocks: the engine's starts anew with each process, the wall's goes on. */
export class TestClock implements Clock {
  nowMs: number;
  wallMs: number;

  constructor(nowMs = 1000.25, wallMs = 1_800_000_000_000) {
    this.nowMs = nowMs;
    this.wallMs = wallMs;
  }

  now(): number {
    return this.nowMs;
  }

  wall(): number {
    return this.wallMs;
  }
}

export const TTL_MS = 30_000;

export function acquire(over: Partial<Acquire> = {}): Acquire {
  return {
    kind: "acquire",
    from: "@scope",
    request: "request-1",
    session: false,
    key: "demo",
    mode: "exclusive",
    timeoutMs: 10_000,
    ttlMs: TTL_MS,
    newToken: "token-1",
    ...over,
  };
}

/** A holding claim that was granted at 1000 and ends at 31 000. */
export function holding(ticket: number, over: Partial<ClaimRecord> = {}): ClaimRecord {
  return {
    ticket,
    asked: acquire(),
    session: undefined,
    state: "holding",
    deadline: 31_000,
    fence: ticket + 1,
    grantedAt: 1000,
    ttlMs: TTL_MS,
    depth: 1,
    outcome: undefined,
    by: undefined,
    nested: undefined,
    unnested: undefined,
    ask: undefined,
    abandoned: false,
    ...over,
  };
}

export function waiting(ticket: number, over: Partial<ClaimRecord> = {}): ClaimRecord {
  return holding(ticket, { state: "waiting", fence: 0, grantedAt: 0, depth: 0, deadline: 11_000, ...over });
}

export function gone(ticket: number, over: Partial<ClaimRecord> = {}): ClaimRecord {
  return holding(ticket, { state: "gone", outcome: "expired", deadline: 61_000, ...over });
}

export function session(id: string, over: Partial<SessionRecord> = {}): SessionRecord {
  return {
    id,
    secret: `secret-of-${id}`,
    graceMs: 60_000,
    meta: undefined,
    user: undefined,
    order: 7,
    deadline: Number.POSITIVE_INFINITY,
    ...over,
  };
}

export function batch(...changes: Change[]): Batch {
  return { changes, changeCount: changes.length };
}

export function claims(...records: ClaimRecord[]): Batch {
  return batch(...records.map((claim): Change => ({ kind: "claim", claim })));
}
