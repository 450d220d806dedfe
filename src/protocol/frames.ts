/**
 * Every frame of the WebSocket, as schemas for what clients send and as types for what servers send.
 * Three frames are no JSON: the server's `ping`, the client's `pong`, the server's `ack`.
 */

import * as v from "valibot";
import { IdempotencyFrames } from "./idempotency-frames.ts";
import {
  contradiction,
  flag,
  key,
  limit,
  message,
  meta,
  mode,
  request,
  session,
  shortText,
  token,
  ttl,
  user,
  whole,
} from "./fields.ts";
import { LIST_COUNT_MAX, REQUEST_CHARS_MAX, SESSION_TIMEOUT_MAX_MS } from "./limits.ts";
import { WatchFrames } from "./watch-frames.ts";

const GRACE_ASKED_MAX_MS = 24 * 60 * 60 * 1000;
const secret = v.pipe(v.string(), v.minLength(1), v.maxLength(256));

export const Hello = v.object({
  t: v.literal("hello"),
  v: v.number("v must be the protocol version, a number"),
  space: v.optional(v.string("space must be a string")),
  /** An API key, for clients that can set no header. */
  auth: v.optional(v.string("auth must be a string")),
  grace: v.optional(whole("grace", 0, GRACE_ASKED_MAX_MS)),
  meta: v.optional(meta),
  /** Who is behind the session; public. */
  user: v.optional(user),
  resume: v.optional(v.object({ session: secret, secret })),
});

const acquire = v.object({
  t: v.literal("acquire"),
  id: request,
  key,
  mode: v.optional(mode),
  limit: v.optional(limit),
  timeout: v.optional(whole("timeout", 0, SESSION_TIMEOUT_MAX_MS)),
  ttl: v.optional(ttl),
  token: v.optional(token),
  nest: v.optional(flag("nest")),
  steal: v.optional(flag("steal")),
  keep: v.optional(flag("keep")),
  meta: v.optional(meta),
  message: v.optional(message),
});

const Acquire = v.pipe(
  acquire,
  v.check(
    (frame) => contradiction(frame) === undefined,
    (issue) => contradiction(issue.input) ?? "",
  ),
);

const RequestAccess = v.pipe(
  v.object({
    t: v.literal("request_access"),
    id: request,
    claim: shortText("claim", REQUEST_CHARS_MAX),
    message: v.optional(message),
    withdraw: v.optional(flag("withdraw")),
  }),
  v.check((frame) => frame.withdraw !== true || frame.message === undefined, "withdraw and message exclude each other"),
);

export const ClientFrame = v.variant("t", [
  Hello,
  Acquire,
  v.object({ t: v.literal("cancel"), id: request }),
  v.object({ t: v.literal("extend"), id: request, key, token, ttl }),
  v.object({ t: v.literal("release"), id: request, key, token }),
  v.object({ t: v.literal("hand_to"), id: request, key, token, session }),
  RequestAccess,
  v.object({ t: v.literal("status"), id: request, key }),
  v.object({
    t: v.literal("list"),
    id: request,
    prefix: v.optional(key),
    after: v.optional(key),
    count: v.optional(whole("count", 1, LIST_COUNT_MAX)),
    queue: v.optional(flag("queue")),
  }),
  v.object({ t: v.literal("revoke"), id: request, key, message: v.optional(message) }),
  v.object({ t: v.literal("revoke_session"), id: request, session, message: v.optional(message) }),
  v.object({ t: v.literal("bye") }),
  ...WatchFrames,
  ...IdempotencyFrames,
]);

export type HelloFrame = v.InferInput<typeof Hello>;
export type AcquireFrame = v.InferInput<typeof acquire>;
export type ClientFrame = v.InferInput<typeof ClientFrame>;
