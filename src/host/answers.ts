/** From what a call came to, to the answer that HTTP gives. */

import type { Effect } from "../core/index.ts";
import type { ProblemCode } from "../protocol/problems.ts";
import type { Answer } from "./calls.ts";
import { retryAfter } from "./idempotency-wire.ts";
import { problem, type ProblemExtras } from "./problem.ts";
import { DETAILS, type Wire } from "./wire.ts";

type Of<Kind extends Effect["kind"]> = Extract<Effect, { kind: Kind }>;

export function acquired(effect: Of<"granted">, key: string, wire: Wire): object {
  const { token, fence, mode, reentrant, depth, ttlMs, expiresAt } = effect;
  return { status: "acquired", key, token, fence, mode, reentrant, depth, ...leaseOf(ttlMs, expiresAt, wire) };
}

export function extended(effect: Of<"extended">, key: string, wire: Wire): object {
  const { token, fence, ttlMs, expiresAt } = effect;
  return { status: "extended", key, token, fence, ...leaseOf(ttlMs, expiresAt, wire) };
}

export function released({ depth, already }: Of<"released">): object {
  const status = depth === 0 ? { status: "released" } : { status: "held", depth };
  return already ? { ...status, already } : status;
}

/** Whatever is not the answer that was hoped for. `key` as the caller named it. */
export function failed(answer: Answer, key?: string): Response {
  const about: ProblemExtras = key === undefined ? {} : { key };
  switch (answer.kind) {
    case "refused":
      return refused(answer.code, answer.limit, about);
    case "in_progress": {
      const retry_after_ms = retryAfter(answer.retryAfterMs);
      return problem("in_progress", "another attempt is in progress", { ...about, retry_after_ms });
    }
    case "attempt_lost":
      return problem("attempt_lost", `the attempt is lost: ${answer.reason}`, { ...about, reason: answer.reason });
    case "lost":
      return lost(answer.reason, about);
    case "ended":
      if (answer.outcome === "cancelled") return problem("cancelled", "the claim was withdrawn", about);
      return lost(answer.outcome, about);
    case "unavailable":
      return problem("unavailable", "the store cannot be reached: what was asked may or may not have happened", about);
    case "draining":
      return draining();
    case "gone":
      return problem("cancelled", "the caller hung up", about);
    default:
      throw new Error(`a call cannot be answered by ${answer.kind}`);
  }
}

export function draining(): Response {
  return problem("draining", "the server is shutting down");
}

function refused(code: ProblemCode & keyof typeof DETAILS, limit: string | undefined, about: ProblemExtras): Response {
  if (limit === undefined) return problem(code, DETAILS[code], about);
  return problem(code, `${DETAILS[code]}: ${limit}`, { ...about, limit });
}

function lost(reason: string, about: ProblemExtras): Response {
  return problem("lost", `the lock is lost: ${reason}`, { ...about, reason });
}

/** All null when a session is the lease. */
function leaseOf(ttlMs: number | undefined, expiresAt: number | undefined, wire: Wire): object {
  if (ttlMs === undefined || expiresAt === undefined) return { ttl: null, expires_in: null, expires_at: null };
  return { ttl: ttlMs, ...wire.lease(expiresAt) };
}
