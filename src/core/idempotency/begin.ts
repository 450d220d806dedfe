/** What a begin comes to: a repeat's old answer, a mismatch, a replay, a place in the queue, or an attempt. */

import type { RefusalCode } from "../effect.ts";
import { type Begun, isSameBegin, type LiveRecord } from "./begun.ts";
import type { Begin, RecordCommand } from "./command.ts";
import type { LedgerLimitName } from "./limits.ts";
import type { RecordImage } from "./record.ts";
import { type LedgerState, newRecord } from "./state.ts";

export function begin(state: LedgerState, command: Begin): void {
  const known = state.findBegin(command.from, command.request);
  if (known !== undefined) return repeat(state, known, command);
  const record = state.standing(command);
  if (record === "unreadable") return refuse(state, command, "unavailable");
  // Before anything is said about progress: another payload must not be told to come back later.
  if (record !== undefined && record.fingerprint !== command.fingerprint) {
    return refuse(state, command, "fingerprint_mismatch");
  }
  if (record !== undefined && "queue" in record) return join(state, command, record);
  if (record?.state === "done") return tellReplay(state, command, record);
  startFirst(state, command, record);
}

function repeat(state: LedgerState, known: Begun, command: Begin): void {
  if (!isSameBegin(known.asked, command)) refuse(state, command, "request_mismatch");
  else if (known.record.running === known) state.tellStarted(known);
  else tellQueued(state, known, positionOf(known));
}

function join(state: LedgerState, command: Begin, record: LiveRecord): void {
  if (command.waitMs === 0) return state.tellInProgress(command, record.running);
  if (isRefusedByLimit(state, command)) return;
  if (record.queue.count >= state.limits.waitersPerRecordMax) {
    return refuseLimit(state, command, "waiters_per_record");
  }
  const begun = state.admit(command, record);
  state.wait(begun, state.now + command.waitMs);
  tellQueued(state, begun, record.queue.count);
}

function startFirst(state: LedgerState, command: Begin, idle: RecordImage | undefined): void {
  if (isRefusedByLimit(state, command)) return;
  if (command.isStoreFull === true && idle === undefined && command.found === undefined) {
    return refuseLimit(state, command, "records");
  }
  const { key, fingerprint } = command;
  const record = newRecord(key, fingerprint, idle?.attempts ?? 0);
  state.records.set(key, record);
  state.start(state.admit(command, record));
}

function isRefusedByLimit(state: LedgerState, command: Begin): boolean {
  const ownCount = command.session ? (state.begins.get(command.from)?.size ?? 0) : 0;
  if (ownCount >= state.limits.beginsPerSessionMax) refuseLimit(state, command, "begins_per_session");
  else if (state.beginCount >= state.limits.beginsMax) refuseLimit(state, command, "begins");
  else return false;
  return true;
}

/** The done record's answer to a begin. */
export function tellReplay(state: LedgerState, { from: to, request, key }: Begin, done: RecordImage): void {
  const { result, contentType, attempts: number } = done;
  if (result === undefined || contentType === undefined) throw new Error("a record is done without a result");
  state.tell({ kind: "replay", to, request, key, result, contentType, number });
}

function tellQueued(state: LedgerState, { asked }: Begun, position: number): void {
  state.tell({ kind: "attempt_queued", to: asked.from, request: asked.request, key: asked.key, position });
}

function positionOf(begun: Begun): number {
  let position = 1;
  for (let before = begun.previous; before !== undefined; before = before.previous) position++;
  return position;
}

export function refuse(state: LedgerState, command: RecordCommand, code: RefusalCode): void {
  state.tell({ kind: "refused", to: command.from, request: command.request, code, key: command.key });
}

function refuseLimit(state: LedgerState, command: Begin, limit: LedgerLimitName): void {
  const { from: to, request, key } = command;
  state.tell({ kind: "refused", to, request, code: "limit", key, limit });
}
