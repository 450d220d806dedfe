/** The bodies of the HTTP API. Unknown members are ignored, so that newer clients can talk to older servers. */

import * as v from "valibot";
import { contradiction, flag, limit, message, meta, mode, requestId, shortText, token, ttl, whole } from "./fields.ts";
import { HTTP_TIMEOUT_MAX_MS, SESSION_CHARS_MAX } from "./limits.ts";

const acquire = v.object({
  ttl: v.optional(ttl),
  timeout: v.optional(whole("timeout", 0, HTTP_TIMEOUT_MAX_MS)),
  token: v.optional(token),
  nest: v.optional(flag("nest")),
  mode: v.optional(mode),
  limit: v.optional(limit),
  meta: v.optional(meta),
  steal: v.optional(flag("steal")),
  message: v.optional(message),
  request_id: v.optional(requestId),
  /** `ok`: a wait that is over answers 200 `{"status":"timeout"}` in place of 408. */
  on_timeout: v.optional(v.picklist(["error", "ok"], "on_timeout must be error or ok")),
});

export const AcquireBody = v.pipe(
  acquire,
  v.check(
    (body) => contradiction(body) === undefined,
    (issue) => contradiction(issue.input) ?? "",
  ),
);

export const ExtendBody = v.object({ token, ttl });
export const ReleaseBody = v.object({
  token,
  /** A session that waits for the key, and has it next. */
  hand_to: v.optional(shortText("hand_to", SESSION_CHARS_MAX)),
  request_id: v.optional(requestId),
});
export const RevokeBody = v.object({ message: v.optional(message) });

export type AcquireBody = v.InferInput<typeof acquire>;
export type ExtendBody = v.InferInput<typeof ExtendBody>;
export type ReleaseBody = v.InferInput<typeof ReleaseBody>;
