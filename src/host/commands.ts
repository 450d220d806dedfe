/** From a session's frames to commands. */

import type { Acquire, Command } from "../core/index.ts";
import type { AcquireFrame, ClientFrame } from "../protocol/frames.ts";
import type { IdempotencyFrame } from "../protocol/idempotency-frames.ts";
import { LIST_COUNT_DEFAULT } from "../protocol/limits.ts";
import type { KeyNames } from "./keys.ts";
import type { Mint } from "./ports.ts";
import type { Permission } from "./settings.ts";

/** Frames that ask for something under an id; `hello` and `bye` are about the connection itself. */
export type AskingFrame = Exclude<ClientFrame, { t: "hello" | "bye" }>;
type LockFrame = Exclude<AskingFrame, IdempotencyFrame | { t: "watch" | "unwatch" }>;

export function permissionFor(frame: AskingFrame): Permission | undefined {
  if (frame.t === "revoke" || frame.t === "revoke_session") return "operate";
  // Without the attempt that ran it: an operator's word.
  if (frame.t === "forget" && frame.attempt === undefined) return "operate";
  return frame.t === "acquire" && frame.steal === true ? "steal" : undefined;
}

export function commandOf(frame: LockFrame, from: string, keys: KeyNames, mint: Mint): Command {
  const request = frame.id;
  switch (frame.t) {
    case "acquire":
      return acquireOf(frame, from, keys, mint);
    case "cancel":
      return { kind: "cancel", from, request };
    case "extend":
      return { kind: "extend", from, request, key: keys.inward(frame.key), token: frame.token, ttlMs: frame.ttl };
    case "release":
      return { kind: "release", from, request, key: keys.inward(frame.key), token: frame.token };
    case "hand_to":
      return { kind: "hand", from, request, key: keys.inward(frame.key), token: frame.token, to: frame.session };
    case "request_access":
      return {
        kind: "ask",
        from,
        request,
        claim: frame.claim,
        ...messageOf(frame),
        ...(frame.withdraw === undefined ? undefined : { withdraw: frame.withdraw }),
      };
    case "status":
      return { kind: "status", from, request, key: keys.inward(frame.key) };
    case "list": {
      const { prefix = "", after, count: countMax = LIST_COUNT_DEFAULT, queue = false } = frame;
      const list = { kind: "list", from, request, prefix: keys.inward(prefix), countMax, queue } as const;
      return after === undefined ? list : { ...list, after: keys.inward(after) };
    }
    case "revoke":
      return { kind: "revoke_key", from, request, key: keys.inward(frame.key), ...messageOf(frame) };
    case "revoke_session":
      return { kind: "revoke_session", from, request, session: frame.session, ...messageOf(frame) };
  }
}

function acquireOf(frame: AcquireFrame, from: string, keys: KeyNames, mint: Mint): Acquire {
  return {
    kind: "acquire",
    from,
    request: frame.id,
    session: true,
    key: keys.inward(frame.key),
    ...acquireFields(frame),
    ...(frame.timeout === undefined ? undefined : { timeoutMs: frame.timeout }),
    ...(frame.ttl === undefined ? undefined : { ttlMs: frame.ttl }),
    ...(frame.keep === undefined ? undefined : { keep: frame.keep }),
    newToken: mint.token(),
  };
}

type AskedFields = Pick<Acquire, "mode" | "limit" | "token" | "nest" | "steal" | "meta" | "message">;

/** What an acquire says in the same words on every way in. Absent stays absent: a repeat is compared field by field. */
export function acquireFields(asked: {
  readonly mode?: Acquire["mode"] | undefined;
  readonly limit?: number | undefined;
  readonly token?: string | undefined;
  readonly nest?: boolean | undefined;
  readonly steal?: boolean | undefined;
  readonly meta?: unknown;
  readonly message?: string | undefined;
}): AskedFields {
  const fields: { -readonly [Field in keyof AskedFields]: AskedFields[Field] } = { mode: asked.mode ?? "exclusive" };
  if (asked.limit !== undefined) fields.limit = asked.limit;
  if (asked.token !== undefined) fields.token = asked.token;
  if (asked.nest !== undefined) fields.nest = asked.nest;
  if (asked.steal !== undefined) fields.steal = asked.steal;
  if (asked.meta !== undefined) fields.meta = JSON.stringify(asked.meta);
  if (asked.message !== undefined) fields.message = asked.message;
  return fields;
}

export function messageOf(asked: { readonly message?: string | undefined }): { message?: string } | undefined {
  return asked.message === undefined ? undefined : { message: asked.message };
}
