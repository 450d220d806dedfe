/** What can be done with an attempt's token: complete, fail, extend, forget; and how attempts end without it. */

import { refuse, tellReplay } from "./begin.ts";
import type { Begun, LiveRecord } from "./begun.ts";
import type { CancelBegin, Complete, ExtendAttempt, Fail, Forget, RecordCommand, RecordStatus } from "./command.ts";
import type { LossReason, RecordSummary } from "./effect.ts";
import type { AttemptEnd, RecordImage } from "./record.ts";
import type { LedgerState } from "./state.ts";

type Owned = Complete | Fail | ExtendAttempt;

export function complete(state: LedgerState, command: Complete): void {
  const record = state.standing(command);
  if (record === "unreadable") return refuse(state, command, "unavailable");
  const begun = runningOf(record, command.attempt);
  if (begun !== undefined) return finish(state, begun, command);
  if (!isDoneBy(record, command.attempt)) return tellLost(state, command, lossOf(record, command.attempt));
  const { from: to, request, key } = command;
  if (isSameResult(record, command)) state.tell({ kind: "completed", to, request, key, already: true });
  else refuse(state, command, "result_mismatch");
}

/** Those who wait hear the result first, in order. */
function finish(state: LedgerState, begun: Begun, command: Complete): void {
  const { record, asked } = begun;
  const { from: to, request, key, result, contentType } = command;
  const done: RecordImage = {
    key,
    fingerprint: record.fingerprint,
    state: "done",
    attempts: record.attempts,
    attempt: command.attempt,
    ttlMs: asked.ttlMs,
    startedAt: record.startedAt,
    expiresAt: state.now + asked.ttlMs,
    run: undefined,
    lostBy: undefined,
    result,
    contentType,
  };
  state.end(begun);
  for (let head = record.queue.first; head !== undefined; head = record.queue.first) {
    state.leaveQueue(head);
    state.end(head);
    tellReplay(state, head.asked, done);
  }
  state.rest(record, done);
  state.tell({ kind: "completed", to, request, key });
}

export function fail(state: LedgerState, command: Fail): void {
  const begun = ownRun(state, command);
  if (begun === undefined) return;
  state.end(begun);
  state.pass(begun.record);
  state.tell({ kind: "failed", to: command.from, request: command.request, key: command.key });
}

export function extendAttempt(state: LedgerState, command: ExtendAttempt): void {
  const begun = ownRun(state, command);
  if (begun === undefined) return;
  const { from: to, request, key, leaseMs } = command;
  state.lease(begun, leaseMs);
  state.tell({ kind: "attempt_extended", to, request, key, leaseMs, expiresAt: begun.deadline });
}

export function forget(state: LedgerState, command: Forget): void {
  const { from: to, request, key, attempt } = command;
  const record = state.standing(command);
  // An operator need not know what it was. Whose it was nobody can tell.
  if (record === "unreadable" && attempt !== undefined) return refuse(state, command, "unavailable");
  if (record !== undefined && record !== "unreadable" && attempt !== undefined) {
    const isOwn = runningOf(record, attempt) !== undefined || isDoneBy(record, attempt);
    if (!isOwn) return tellLost(state, command, lossOf(record, attempt));
  }
  if (typeof record === "object" && "queue" in record) forgetLive(state, record, attempt === undefined);
  else if (record !== undefined) state.change({ kind: "record_gone", key });
  state.tell({ kind: "forgotten", to, request, key, existed: record !== undefined });
}

/** Whoever waits begins anew: the record never was. */
function forgetLive(state: LedgerState, record: LiveRecord, isByOther: boolean): void {
  const begun = record.running as Begun;
  state.end(begun);
  if (isByOther) tellOwner(state, begun, "forgotten");
  record.attempts = 0;
  state.pass(record);
}

export function recordStatus(state: LedgerState, command: RecordStatus): void {
  const record = state.standing(command);
  if (record === "unreadable") return refuse(state, command, "unavailable");
  const told = { kind: "record_status", to: command.from, request: command.request, key: command.key } as const;
  state.tell(record === undefined ? told : { ...told, record: summaryOf(record) });
}

export function cancelBegin(state: LedgerState, { from, request }: CancelBegin): void {
  const begun = state.findBegin(from, request);
  if (begun === undefined) return;
  const { record, asked } = begun;
  const { running } = record;
  if (running !== begun) {
    state.leaveQueue(begun);
    state.end(begun);
    return state.tellInProgress(asked, running);
  }
  state.end(begun);
  state.pass(record);
  state.tell({ kind: "failed", to: from, request, key: asked.key });
}

/** These sessions are over. All their waits go first: an attempt of one must not pass to another. */
export function drop(state: LedgerState, sessions: readonly string[]): void {
  const lost: Begun[] = [];
  for (const session of sessions) {
    for (const begun of state.begins.get(session)?.values() ?? []) {
      if (begun.record.running === begun) {
        lost.push(begun);
        continue;
      }
      state.leaveQueue(begun);
      state.end(begun);
    }
  }
  for (const begun of lost) lose(state, begun, "dropped");
}

/** A deadline is reached: a wait is over, or a lease. */
export function expire(state: LedgerState, begun: Begun): void {
  const { record, asked } = begun;
  if (record.running === begun) return lose(state, begun, "expired");
  state.leaveQueue(begun);
  state.end(begun);
  state.tellInProgress(asked, record.running);
}

function lose(state: LedgerState, begun: Begun, by: AttemptEnd): void {
  state.end(begun);
  if (by !== "dropped") tellOwner(state, begun, by);
  state.pass(begun.record, { attempt: begun, by });
}

/** A session hears at once what became of its attempt; a caller hears it when it next speaks. */
function tellOwner(state: LedgerState, { asked }: Begun, reason: LossReason): void {
  const { from: to, request, key, session } = asked;
  if (session) state.tell({ kind: "attempt_lost", to, request, key, reason });
}

/** The running attempt that the command speaks for; undefined: its sender was told that it does not. */
function ownRun(state: LedgerState, command: Owned): Begun | undefined {
  const record = state.standing(command);
  if (record === "unreadable") refuse(state, command, "unavailable");
  else {
    const begun = runningOf(record, command.attempt);
    if (begun !== undefined) return begun;
    tellLost(state, command, lossOf(record, command.attempt));
  }
  return undefined;
}

function runningOf(record: LiveRecord | RecordImage | undefined, attempt: string): Begun | undefined {
  if (record === undefined || !("queue" in record)) return undefined;
  return record.running?.asked.newAttempt === attempt ? record.running : undefined;
}

function isDoneBy(record: LiveRecord | RecordImage | undefined, attempt: string): record is RecordImage {
  return record !== undefined && !("queue" in record) && record.state === "done" && record.attempt === attempt;
}

/** Why this attempt is not the one that runs. */
function lossOf(record: LiveRecord | RecordImage | undefined, attempt: string): LossReason {
  if (record === undefined) return "unknown";
  if ("queue" in record || record.attempt !== attempt) return "superseded";
  return record.lostBy ?? "completed";
}

function tellLost(state: LedgerState, command: RecordCommand, reason: LossReason): void {
  state.tell({ kind: "attempt_lost", to: command.from, request: command.request, key: command.key, reason });
}

function isSameResult(done: RecordImage, { result, contentType }: Complete): boolean {
  const stored = done.result as Uint8Array;
  if (done.contentType !== contentType || stored.length !== result.length) return false;
  return stored.every((byte, i) => byte === result[i]);
}

function summaryOf(record: LiveRecord | RecordImage): RecordSummary {
  const { attempts } = record;
  if ("queue" in record) {
    const leaseUntil = (record.running as Begun).deadline;
    return { state: "running", attempts, waiting: record.queue.count, leaseUntil };
  }
  const { state, expiresAt, result, contentType } = record;
  const rest = { state, attempts, waiting: 0, expiresAt };
  if (result === undefined || contentType === undefined) return rest;
  return { ...rest, contentType, resultBytes: result.length };
}
