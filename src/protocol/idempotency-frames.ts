/** The frames that clients send about idempotent work, as schemas. */

import * as v from "valibot";
import { key, request, whole } from "./fields.ts";
import { attempt, contentType, fingerprint, lease, recordTtl } from "./idempotency-fields.ts";
import { SESSION_TIMEOUT_MAX_MS } from "./limits.ts";

const address = { id: request, key };

export const IdempotencyFrames = [
  v.object({
    t: v.literal("begin"),
    ...address,
    fingerprint: v.optional(fingerprint),
    ttl: v.optional(recordTtl),
    lease: v.optional(lease),
    timeout: v.optional(whole("timeout", 0, SESSION_TIMEOUT_MAX_MS)),
  }),
  v.object({ t: v.literal("cancel_begin"), id: request }),
  v.object({
    t: v.literal("complete"),
    ...address,
    attempt,
    /** Its size is judged when it is decoded. */
    result: v.string("result must be a string"),
    encoding: v.optional(v.literal("base64", "encoding must be base64")),
    type: v.optional(contentType),
  }),
  v.object({ t: v.literal("fail"), ...address, attempt }),
  v.object({ t: v.literal("extend_attempt"), ...address, attempt, lease }),
  v.object({ t: v.literal("forget"), ...address, attempt: v.optional(attempt) }),
] as const;

export type IdempotencyFrame = v.InferInput<(typeof IdempotencyFrames)[number]>;
