/** What a session is told about idempotent work: from effects, in engine time, to frames. */

import type { IdempotencyEffect } from "../core/index.ts";
import type { IdempotencyTold } from "../protocol/idempotency-told.ts";
import { encodeResult } from "../protocol/result-text.ts";

export interface WireUnits {
  outward(key: string): string;
  /** What is left of a lease, ms. */
  expiresIn(expiresAt: number): number;
}

/** Undefined: no session asks for it. */
export function idempotencyFrame(effect: IdempotencyEffect, units: WireUnits): IdempotencyTold | undefined {
  const id = effect.request;
  const key = units.outward(effect.key);
  switch (effect.kind) {
    case "started": {
      const { attempt, number, leaseMs: lease, expiresAt } = effect;
      return { t: "started", id, key, attempt, number, lease, expires_in: units.expiresIn(expiresAt) };
    }
    case "replay": {
      const { result, contentType: type, number } = effect;
      return { t: "replay", id, key, number, ...encodeResult(result), type };
    }
    case "in_progress":
      return { t: "in_progress", id, key, retry_after_ms: retryAfter(effect.retryAfterMs) };
    case "attempt_queued":
      return { t: "attempt_queued", id, position: effect.position };
    case "completed":
      return { t: "completed", id, ...(effect.already ? { already: true } : undefined) };
    case "failed":
      return { t: "failed", id };
    case "attempt_extended": {
      const { leaseMs: lease, expiresAt } = effect;
      return { t: "attempt_extended", id, key, lease, expires_in: units.expiresIn(expiresAt) };
    }
    case "forgotten":
      return { t: "forgotten", id, existed: effect.existed };
    case "attempt_lost":
      return { t: "attempt_lost", id, key, reason: effect.reason };
    case "record_status":
      return undefined;
  }
}

/** Rounded up: who comes back sooner finds the same attempt. */
export function retryAfter(ms: number): number {
  return Math.max(0, Math.ceil(ms));
}
