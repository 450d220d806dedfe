/**
 * The two frames that make up nearly all traffic, checked by hand: a schema takes some µs for what these few lines do in a
 * tenth of that. The schemas stay the truth: whatever is not plainly right goes to them, and a test holds the two together.
 */

import type { ClientFrame } from "../protocol/frames.ts";
import {
  KEY_BYTES_MAX,
  REQUEST_CHARS_MAX,
  SESSION_TIMEOUT_MAX_MS,
  TOKEN_CHARS_MAX,
  TTL_MAX_MS,
  TTL_MIN_MS,
} from "../protocol/limits.ts";

/** The frame as its schema would read it; undefined: ask the schema. */
export function hotFrame(value: unknown): ClientFrame | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { t, id, key } = value as { readonly t?: unknown; readonly id?: unknown; readonly key?: unknown };
  if (t !== "acquire" && t !== "release") return undefined;
  if (!isShortText(id, REQUEST_CHARS_MAX) || !isShortKey(key)) return undefined;
  return t === "acquire" ? hotAcquire(value, id, key) : hotRelease(value, id, key);
}

function hotRelease(value: object, id: string, key: string): ClientFrame | undefined {
  const { token } = value as { readonly token?: unknown };
  return isShortText(token, TOKEN_CHARS_MAX) ? { t: "release", id, key, token } : undefined;
}

function hotAcquire(value: object, id: string, key: string): ClientFrame | undefined {
  const frame: { t: "acquire"; id: string; key: string; mode?: Mode; timeout?: number; ttl?: number } = {
    t: "acquire",
    id,
    key,
  };
  // By their names, and not one after the other: to look up a member by a name that varies costs as much as all the rest.
  const { mode, timeout, ttl } = value as Readonly<Record<"mode" | "timeout" | "ttl", unknown>>;
  let members = 3;
  if (mode !== undefined) {
    if (mode !== "exclusive" && mode !== "shared") return undefined;
    frame.mode = mode;
    members += 1;
  }
  if (timeout !== undefined) {
    if (!isWhole(timeout, 0, SESSION_TIMEOUT_MAX_MS)) return undefined;
    frame.timeout = timeout;
    members += 1;
  }
  if (ttl !== undefined) {
    if (!isWhole(ttl, TTL_MIN_MS, TTL_MAX_MS)) return undefined;
    frame.ttl = ttl;
    members += 1;
  }
  return hasMembers(value, members) ? frame : undefined;
}

/** Whether it has so many and no more. */
function hasMembers(value: object, count: number): boolean {
  let found = 0;
  for (const _name in value) if (++found > count) return false;
  return found === count;
}

export type Mode = "exclusive" | "shared";

export function isShortText(value: unknown, charsMax: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= charsMax;
}

/** No code unit takes more than three bytes, so that a short key needs no counting. */
function isShortKey(value: unknown): value is string {
  return typeof value === "string" && value.length * 3 <= KEY_BYTES_MAX;
}

export function isWhole(value: unknown, min: number, max: number): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max;
}
