/** From a session's frames about idempotent work to commands. */

import { type IdempotencyCommand, LEASE_DEFAULT_MS } from "../core/index.ts";
import type { IdempotencyFrame } from "../protocol/idempotency-frames.ts";
import { RESULT_BYTES_MAX } from "../protocol/limits.ts";
import type { ProblemCode } from "../protocol/problems.ts";
import { decodeResult } from "../protocol/result-text.ts";
import type { KeyNames } from "./keys.ts";
import type { Mint } from "./ports.ts";

export const CONTENT_TYPE_DEFAULT = "application/json";

/** A frame that has its shape and still cannot be served. */
export interface Unusable {
  readonly kind: undefined;
  readonly code: ProblemCode;
  readonly detail: string;
}

export interface IdempotencyParts {
  readonly keys: KeyNames;
  readonly mint: Mint;
  readonly settings: { readonly recordTtlMs: number };
}

export function isIdempotencyFrame<Frame extends { readonly t: string }>(
  frame: Frame,
): frame is Extract<Frame, { readonly t: IdempotencyFrame["t"] }> {
  switch (frame.t) {
    case "begin":
    case "cancel_begin":
    case "complete":
    case "fail":
    case "extend_attempt":
    case "forget":
      return true;
    default:
      return false;
  }
}

export function idempotencyCommandOf(
  frame: IdempotencyFrame,
  from: string,
  parts: IdempotencyParts,
): IdempotencyCommand | Unusable {
  const request = frame.id;
  if (frame.t === "cancel_begin") return { kind: "cancel_begin", from, request };
  const address = { from, request, key: parts.keys.inward(frame.key) };
  switch (frame.t) {
    case "begin":
      return { kind: "begin", ...address, session: true, ...beginFields(frame, parts) };
    case "complete": {
      const { attempt, type: contentType = CONTENT_TYPE_DEFAULT } = frame;
      const result = decodeResult(frame);
      if (result === undefined) return unusable("bad_request", "result must be well-formed text, or base64");
      if (result.byteLength > RESULT_BYTES_MAX) return unusable("too_large", RESULT_TOO_LARGE);
      return { kind: "complete", ...address, attempt, result, contentType };
    }
    case "fail":
      return { kind: "fail", ...address, attempt: frame.attempt };
    case "extend_attempt":
      return { kind: "extend_attempt", ...address, attempt: frame.attempt, leaseMs: frame.lease };
    case "forget":
      return { kind: "forget", ...address, ...(frame.attempt === undefined ? undefined : { attempt: frame.attempt }) };
  }
}

export const RESULT_TOO_LARGE = `a result has at most ${RESULT_BYTES_MAX} bytes`;

/** What a begin says in the same words on every way in. */
export function beginFields(
  asked: {
    readonly fingerprint?: string | undefined;
    readonly ttl?: number | undefined;
    readonly lease?: number | undefined;
    readonly timeout?: number | undefined;
  },
  { mint, settings }: Pick<IdempotencyParts, "mint" | "settings">,
): { fingerprint: string; ttlMs: number; leaseMs: number; waitMs: number; newAttempt: string } {
  return {
    fingerprint: asked.fingerprint ?? "",
    ttlMs: asked.ttl ?? settings.recordTtlMs,
    leaseMs: asked.lease ?? LEASE_DEFAULT_MS,
    waitMs: asked.timeout ?? 0,
    newAttempt: mint.token(),
  };
}

function unusable(code: ProblemCode, detail: string): Unusable {
  return { kind: undefined, code, detail };
}
