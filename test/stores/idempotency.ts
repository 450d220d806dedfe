/** Idempotency records for the tests of stores. */

import type { Begin, Change, RecordImage, WaiterImage } from "../../src/core/index.ts";

const DAY_MS = 24 * 3_600_000;

export function begin(over: Partial<Begin> = {}): Begin {
  return {
    kind: "begin",
    from: "@scope",
    request: "request-1",
    key: "pay",
    session: false,
    fingerprint: "f",
    ttlMs: DAY_MS,
    leaseMs: 30_000,
    waitMs: 0,
    newAttempt: "attempt-1",
    ...over,
  };
}

/** An attempt that was started at 1000 and whose lease ends at 31 000. */
export function running(key: string, over: Partial<RecordImage> = {}): RecordImage {
  return {
    key,
    fingerprint: "f",
    state: "running",
    attempts: 1,
    attempt: "attempt-1",
    ttlMs: DAY_MS,
    startedAt: 1000,
    expiresAt: Number.POSITIVE_INFINITY,
    run: { order: 1, asked: begin({ key }), leaseMs: 30_000, leaseUntil: 31_000 },
    lostBy: undefined,
    result: undefined,
    contentType: undefined,
    ...over,
  };
}

export function done(key: string, expiresAt: number, result: Uint8Array = new Uint8Array([1])): RecordImage {
  return running(key, { state: "done", run: undefined, expiresAt, result, contentType: "a/b" });
}

export function idle(key: string, expiresAt: number): RecordImage {
  return running(key, { state: "idle", run: undefined, expiresAt, lostBy: "expired" });
}

export function waiter(order: number, over: Partial<WaiterImage> = {}): WaiterImage {
  return { order, asked: begin({ from: "session-1", session: true, waitMs: 10_000 }), deadline: 11_000, ...over };
}

export function recordChange(record: RecordImage): Change {
  return { kind: "record", record };
}
