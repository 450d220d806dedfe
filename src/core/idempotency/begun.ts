import type { Chain } from "../chain.ts";
import type { Due } from "../deadlines.ts";
import type { Begin } from "./command.ts";
import type { RecordImage } from "./record.ts";

/** A begin that lives: it waits for its record's running attempt, and then it is the running attempt. One deadline serves both. */
export class Begun implements Due {
  readonly order: number;
  readonly asked: Begin;
  readonly record: LiveRecord;
  /** When its wait ends, or its lease. */
  deadline: number = Number.POSITIVE_INFINITY;
  slot = -1;
  previous: Begun | undefined = undefined;
  following: Begun | undefined = undefined;
  /** The lease as last asked, ms. */
  leaseMs: number;
  /** Whether a store has been told that it waits. */
  stored = false;

  constructor(order: number, asked: Begin, record: LiveRecord) {
    this.order = order;
    this.asked = asked;
    this.record = record;
    this.leaseMs = asked.leaseMs;
  }
}

/** A record with a running attempt; others are only in the store. Between two attempts of one step nothing runs. */
export interface LiveRecord {
  readonly key: string;
  readonly fingerprint: string;
  attempts: number;
  running: Begun | undefined;
  /** The running attempt's start. */
  startedAt: number;
  readonly queue: Chain<Begun>;
}

/** Whether two begins under one request id are one begin. Their tokens differ, and what the store had may. */
export function isSameBegin(a: Begin, b: Begin): boolean {
  return (
    a.key === b.key &&
    a.fingerprint === b.fingerprint &&
    a.ttlMs === b.ttlMs &&
    a.leaseMs === b.leaseMs &&
    a.waitMs === b.waitMs &&
    a.session === b.session
  );
}

/** What a begin asks, without what goes for one moment only. */
export function lasting(command: Begin): Begin {
  const { found: _found, isStoreFull: _isStoreFull, ...asked } = command;
  return asked;
}

export function runningImage(record: LiveRecord, { order, asked, leaseMs, deadline }: Begun): RecordImage {
  return {
    key: record.key,
    fingerprint: record.fingerprint,
    state: "running",
    attempts: record.attempts,
    attempt: asked.newAttempt,
    ttlMs: asked.ttlMs,
    startedAt: record.startedAt,
    expiresAt: Number.POSITIVE_INFINITY,
    run: { order, asked, leaseMs, leaseUntil: deadline },
    lostBy: undefined,
    result: undefined,
    contentType: undefined,
  };
}
