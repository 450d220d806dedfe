/** From an image back to the tables of a ledger. */

import { Begun } from "./begun.ts";
import type { IdempotencyImage } from "./record.ts";
import { type LedgerState, newRecord } from "./state.ts";

/** Returns the sessions that begins belong to and that are no more, by the arrival of their first begin. */
export function rebuild(
  state: LedgerState,
  image: IdempotencyImage,
  isLiveSession: (session: string) => boolean,
): readonly string[] {
  for (const { key, fingerprint, attempts, startedAt, run } of image.records) {
    if (run === undefined) continue;
    const record = newRecord(key, fingerprint, attempts);
    const begun = new Begun(run.order, run.asked, record);
    begun.leaseMs = run.leaseMs;
    record.running = begun;
    record.startedAt = startedAt;
    state.records.set(key, record);
    state.enterBegin(begun);
    state.deadlines.set(begun, run.leaseUntil);
  }
  for (const { order, asked, deadline } of image.waiters.toSorted((a, b) => a.order - b.order)) {
    const record = state.records.get(asked.key);
    if (record === undefined) {
      // Its record could not be read. Nobody may run the work then.
      state.change({ kind: "waiter_gone", order });
      state.tell({ kind: "refused", to: asked.from, request: asked.request, code: "unavailable", key: asked.key });
      continue;
    }
    const begun = new Begun(order, asked, record);
    begun.stored = true;
    record.queue.add(begun);
    state.enterBegin(begun);
    state.deadlines.set(begun, deadline);
  }
  return sessionsOver(state, isLiveSession);
}

function sessionsOver(state: LedgerState, isLiveSession: (session: string) => boolean): readonly string[] {
  const begins: Begun[] = [];
  for (const own of state.begins.values()) begins.push(...own.values());
  begins.sort((a, b) => a.order - b.order);
  const over = new Set<string>();
  for (const { order, asked } of begins) {
    state.order = Math.max(state.order, order);
    if (asked.session && !isLiveSession(asked.from)) over.add(asked.from);
  }
  return [...over];
}
