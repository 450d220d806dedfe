import type { Begin } from "../../src/core/idempotency/command.ts";
import type { RecordImage, RunImage } from "../../src/core/idempotency/record.ts";

/** A record as the model sees it: never changed, only replaced. */
export type ModelRecord = RecordImage;

export function runOf(record: ModelRecord): RunImage {
  if (record.run === undefined) throw new Error(`the record of ${record.key} does not run`);
  return record.run;
}

/** A begin without what it was told of the store. */
export function asRemembered(command: Begin): Begin {
  const { kind, from, request, key, session, fingerprint, ttlMs, leaseMs, waitMs, newAttempt } = command;
  return { kind, from, request, key, session, fingerprint, ttlMs, leaseMs, waitMs, newAttempt };
}
