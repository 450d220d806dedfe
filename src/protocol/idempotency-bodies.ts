/** The bodies of the HTTP calls about idempotent work. */

import * as v from "valibot";
import { requestId, whole } from "./fields.ts";
import { attempt, fingerprint, lease, recordTtl } from "./idempotency-fields.ts";
import { HTTP_TIMEOUT_MAX_MS } from "./limits.ts";

export const BeginBody = v.object({
  fingerprint: v.optional(fingerprint),
  ttl: v.optional(recordTtl),
  lease: v.optional(lease),
  timeout: v.optional(whole("timeout", 0, HTTP_TIMEOUT_MAX_MS)),
  request_id: v.optional(requestId),
});

/** The result is any JSON; what is no JSON is sent as the body itself, with the attempt in a header. */
export const CompleteBody = v.object({ attempt, result: v.unknown() });
export const FailBody = v.object({ attempt });
export const ExtendAttemptBody = v.object({ attempt, lease });
