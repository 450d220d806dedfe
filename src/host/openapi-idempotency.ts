/** What the description of the API says of idempotency records. */

import {
  LEASE_DEFAULT_MS,
  LEASE_MAX_MS,
  LEASE_MIN_MS,
  RECORD_TTL_DEFAULT_MS,
  RECORD_TTL_MAX_MS,
  RECORD_TTL_MIN_MS,
} from "../core/index.ts";
import { ATTEMPT_HEADER, ATTEMPT_NUMBER_HEADER, REPLAYED_HEADER } from "../protocol/headers.ts";
import { HTTP_TIMEOUT_MAX_MS, RESULT_BYTES_MAX, TOKEN_CHARS_MAX } from "../protocol/limits.ts";
import { answer, body, call, constant, content, flag, parameter, requestId, text, whole } from "./openapi-parts.ts";

const attempt = { type: "string", minLength: 1, maxLength: TOKEN_CHARS_MAX } as const;
const lease = { type: "integer", minimum: LEASE_MIN_MS, maximum: LEASE_MAX_MS } as const;
const bytes = { type: "string", format: "binary", maxLength: RESULT_BYTES_MAX } as const;
const attemptHeader = parameter(ATTEMPT_HEADER, "header", attempt);

export const idempotencySchemas = {
  BeginBody: body({
    fingerprint: text,
    ttl: { type: "integer", minimum: RECORD_TTL_MIN_MS, maximum: RECORD_TTL_MAX_MS, default: RECORD_TTL_DEFAULT_MS },
    lease: { ...lease, default: LEASE_DEFAULT_MS },
    timeout: { type: "integer", minimum: 0, maximum: HTTP_TIMEOUT_MAX_MS, default: 0 },
    request_id: requestId,
  }),
  CompleteBody: body({ attempt, result: {} }, ["attempt", "result"]),
  FailBody: body({ attempt }, ["attempt"]),
  ExtendAttemptBody: body({ attempt, lease }, ["attempt", "lease"]),
  Started: answer({
    status: constant("started"),
    key: text,
    attempt,
    number: whole,
    lease: whole,
    expires_in: whole,
    expires_at: whole,
  }),
  Completed: answer({ status: constant("completed"), already: flag }, ["status"]),
  Failed: answer({ status: constant("failed") }),
  AttemptExtended: answer({
    status: constant("extended"),
    key: text,
    lease: whole,
    expires_in: whole,
    expires_at: whole,
  }),
  Forgotten: answer({ status: constant("forgotten"), existed: flag }),
  Record: answer(
    {
      key: text,
      status: { type: "string", enum: ["none", "running", "idle", "done"] },
      attempts: whole,
      waiting: whole,
      lease_expires_in: whole,
      expires_in: whole,
      type: text,
      bytes: whole,
    },
    ["key", "status"],
  ),
};

export function idempotencyPaths(parameters: readonly object[], idempotencyKey: object): object {
  const begin = call("Start an attempt, or get the result", "Started", "BeginBody", [idempotencyKey], "201");
  const complete = call("Store the result", "Completed", "CompleteBody", [attemptHeader]);
  return {
    "/v1/idempotency/{key}/begin": { parameters, post: { ...begin, responses: { ...begin.responses, "200": replay } } },
    "/v1/idempotency/{key}/complete": {
      parameters,
      post: { ...complete, requestBody: { content: { ...content("CompleteBody"), "*/*": { schema: bytes } } } },
    },
    "/v1/idempotency/{key}/fail": { parameters, post: call("End the attempt without a result", "Failed", "FailBody") },
    "/v1/idempotency/{key}/extend": {
      parameters,
      post: call("Lengthen the attempt's lease", "AttemptExtended", "ExtendAttemptBody"),
    },
    "/v1/idempotency/{key}": {
      parameters,
      get: call("How the record stands", "Record"),
      delete: call("Remove the record", "Forgotten", undefined, [attemptHeader]),
    },
  };
}

const replay = {
  description: "The stored result",
  headers: { [REPLAYED_HEADER]: { schema: text }, [ATTEMPT_NUMBER_HEADER]: { schema: whole } },
  content: { "*/*": { schema: bytes } },
};
