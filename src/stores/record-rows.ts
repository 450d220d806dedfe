/**
 * Idempotency records as rows and back. Their text is JSON for the reasons that `rows.ts` gives; the result stays bytes. A row that
 * cannot be read throws: it concerns its own key alone. A sum over both goes with the text: a result with another byte would be
 * given to whoever asks, and a life with another digit would let the work be done again.
 */

import type { Begin } from "../core/idempotency/command.ts";
import type { RecordImage, RecordState, RunImage, WaiterImage } from "../core/idempotency/record.ts";
import type { Clock } from "../host/ports.ts";
import { checksum } from "./checksum.ts";
import { check, isNumber, isOptional, isText, parse, toEngine, toWall } from "./rows.ts";

const STATES: ReadonlySet<unknown> = new Set<RecordState>(["running", "idle", "done"]);

export function writeRecord(record: RecordImage, clock: Clock): string {
  const { run } = record;
  const text = JSON.stringify({
    key: record.key,
    fingerprint: record.fingerprint,
    state: record.state,
    attempts: record.attempts,
    attempt: record.attempt,
    ttlMs: record.ttlMs,
    startedAt: toWall(record.startedAt, clock),
    expiresAt: toWall(record.expiresAt, clock),
    run: run && { ...run, leaseUntil: toWall(run.leaseUntil, clock) },
    lostBy: record.lostBy,
    contentType: record.contentType,
  });
  return summed(text, record.result);
}

export function readRecord(key: string, text: unknown, result: Uint8Array | undefined, clock: Clock): RecordImage {
  const stored = parse(text) as { [Field in keyof RecordImage]?: unknown };
  check(isText(text) && text === summed(`${text.slice(0, text.lastIndexOf(SUM))}}`, result));
  // A text that has got to another key's row must not answer for it.
  check(stored.key === key && isText(stored.fingerprint) && isText(stored.attempt) && STATES.has(stored.state));
  check(isNumber(stored.attempts) && isNumber(stored.ttlMs) && isNumber(stored.startedAt));
  check(stored.expiresAt === null || isNumber(stored.expiresAt));
  check((stored.expiresAt === null) === (stored.state === "running"));
  check(stored.lostBy === undefined || stored.lostBy === "expired" || stored.lostBy === "dropped");
  check(isOptional(stored.contentType, isText));
  check((result !== undefined && stored.contentType !== undefined) === (stored.state === "done"));
  check((stored.run !== undefined) === (stored.state === "running"));
  return {
    key,
    fingerprint: stored.fingerprint,
    state: stored.state as RecordState,
    attempts: stored.attempts,
    attempt: stored.attempt,
    ttlMs: stored.ttlMs,
    startedAt: stored.startedAt - clock.wall() + clock.now(),
    expiresAt: toEngine(stored.expiresAt, stored.ttlMs, clock),
    run: stored.run === undefined ? undefined : readRun(stored.run, clock),
    lostBy: stored.lostBy,
    result,
    contentType: stored.contentType,
  };
}

export function writeWaiter({ order, asked, deadline }: WaiterImage, clock: Clock): string {
  return JSON.stringify({ order, asked, deadline: toWall(deadline, clock) });
}

export function readWaiter(order: unknown, text: unknown, clock: Clock): WaiterImage {
  const stored = parse(text) as { [Field in keyof WaiterImage]?: unknown };
  const { asked } = stored;
  check(isNumber(order) && stored.order === order && isBegin(asked) && isNumber(stored.deadline));
  return { order, asked, deadline: toEngine(stored.deadline, asked.waitMs, clock) };
}

/** The last member of the text, and the one that is not in the sum. */
const SUM = ',"sum":';

function summed(text: string, result: Uint8Array | undefined): string {
  return `${text.slice(0, -1)}${SUM}${checksum(text, result)}}`;
}

function readRun(value: unknown, clock: Clock): RunImage {
  const run = value as { [Field in keyof RunImage]?: unknown } | null;
  check(typeof run === "object" && run !== null);
  const { order, asked, leaseMs, leaseUntil } = run;
  check(isNumber(order) && isBegin(asked) && isNumber(leaseMs) && isNumber(leaseUntil));
  return { order, asked, leaseMs, leaseUntil: toEngine(leaseUntil, leaseMs, clock) };
}

function isBegin(value: unknown): value is Begin {
  const begin = value as Begin | null | undefined;
  return (
    begin?.kind === "begin" &&
    isText(begin.from) &&
    isText(begin.request) &&
    isText(begin.key) &&
    isText(begin.fingerprint) &&
    isText(begin.newAttempt) &&
    typeof begin.session === "boolean" &&
    isNumber(begin.ttlMs) &&
    isNumber(begin.leaseMs) &&
    isNumber(begin.waitMs)
  );
}
