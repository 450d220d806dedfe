/** Finished records for a store. */

import type { RecordImage } from "../../src/core/index.ts";
import { systemClock } from "../../src/host/clock.ts";
import type { Store } from "../../src/host/ports.ts";

export const TTL_MS: number = 24 * 60 * 60 * 1000;
const BATCH = 1000;

export async function fill(store: Store, count: number): Promise<void> {
  await store.load("default");
  for (let first = 0; first < count; first += BATCH) {
    const changeCount = Math.min(BATCH, count - first);
    const changes = Array.from({ length: changeCount }, (_, i) => ({
      kind: "record" as const,
      record: recordOf(first + i),
    }));
    await store.commit("default", { changes, changeCount });
  }
}

export function recordOf(index: number): RecordImage {
  const now = systemClock.now();
  return {
    key: keyOf(index),
    fingerprint: "a",
    state: "done",
    attempts: 1,
    attempt: `attempt-of-some-length-${index}`,
    ttlMs: TTL_MS,
    startedAt: now,
    expiresAt: now + TTL_MS,
    run: undefined,
    lostBy: undefined,
    result: RESULT,
    contentType: "application/json",
  };
}

export const RESULT: Uint8Array = new TextEncoder().encode(JSON.stringify({ booking: "a".repeat(80) }));

/** In no order, as random keys are, and the same in each run. */
export function keyOf(index: number): string {
  return `http/${Math.imul(index + 1, 0x9e3779b1) >>> 0}-${index}`;
}
