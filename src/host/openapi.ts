/** The HTTP API for tools. Written by hand beside PROTOCOL.md; a test holds the bodies to the schemas that check them. */

import {
  HTTP_TIMEOUT_DEFAULT_MS,
  HTTP_TIMEOUT_MAX_MS,
  LIST_COUNT_DEFAULT,
  LIST_COUNT_MAX,
  SEMAPHORE_LIMIT_MAX,
  SESSION_CHARS_MAX,
  SPACE_CHARS_MAX,
  TOKEN_CHARS_MAX,
  TTL_DEFAULT_MS,
  TTL_MAX_MS,
  TTL_MIN_MS,
} from "../protocol/limits.ts";
import { PROBLEMS } from "../protocol/problems.ts";
import { idempotencyPaths, idempotencySchemas } from "./openapi-idempotency.ts";
import {
  answer,
  body,
  call,
  constant,
  events,
  flag,
  parameter,
  plain,
  reference,
  requestId,
  text,
  whole,
} from "./openapi-parts.ts";

const orNull = { type: ["integer", "null"] } as const;
const token = { type: "string", minLength: 1, maxLength: TOKEN_CHARS_MAX } as const;
const session = { type: "string", minLength: 1, maxLength: SESSION_CHARS_MAX } as const;
const ttl = { type: "integer", minimum: TTL_MIN_MS, maximum: TTL_MAX_MS } as const;
const mode = { type: "string", enum: ["exclusive", "shared"] } as const;
const anything = {} as const;

const schemas = {
  AcquireBody: body({
    ttl: { ...ttl, default: TTL_DEFAULT_MS },
    timeout: { type: "integer", minimum: 0, maximum: HTTP_TIMEOUT_MAX_MS, default: HTTP_TIMEOUT_DEFAULT_MS },
    token,
    nest: flag,
    mode,
    limit: { type: "integer", minimum: 1, maximum: SEMAPHORE_LIMIT_MAX },
    meta: anything,
    steal: flag,
    message: text,
    request_id: requestId,
    on_timeout: { type: "string", enum: ["error", "ok"] },
  }),
  ExtendBody: body({ token, ttl }, ["token", "ttl"]),
  ReleaseBody: body({ token, hand_to: session, request_id: requestId }, ["token"]),
  RevokeBody: body({ message: text }),
  Acquired: answer({
    status: constant("acquired"),
    key: text,
    token,
    fence: whole,
    mode,
    reentrant: flag,
    depth: whole,
    ttl: orNull,
    expires_in: orNull,
    expires_at: orNull,
  }),
  Extended: answer({
    status: constant("extended"),
    key: text,
    token,
    fence: whole,
    ttl: whole,
    expires_in: whole,
    expires_at: whole,
  }),
  Released: answer({ status: { type: "string", enum: ["released", "held"] }, depth: whole, already: flag }, ["status"]),
  Key: answer(
    {
      key: text,
      status: { type: "string", enum: ["held", "free"] },
      holders: { type: "array", items: reference("Holder") },
      waiting: whole,
      limit: whole,
      queue: { type: "array", items: reference("Waiting") },
    },
    ["key", "status", "holders", "waiting"],
  ),
  Holder: answer({ session: text, user: text, mode, fence: whole, since: whole, expires_in: whole, meta: anything }, [
    "mode",
    "fence",
    "since",
  ]),
  Waiting: answer({ session: text, mode }, ["mode"]),
  KeyList: answer({ keys: { type: "array", items: reference("Key") }, next: text }, ["keys"]),
  Revoked: answer({ status: constant("revoked"), count: whole }),
  ...idempotencySchemas,
  Problem: answer(
    {
      type: text,
      title: text,
      status: whole,
      detail: text,
      code: { type: "string", enum: Object.keys(PROBLEMS) },
      retryable: flag,
      retry_after_ms: whole,
      key: text,
      reason: text,
      limit: text,
      holder: reference("Holder"),
    },
    ["type", "title", "status", "detail", "code", "retryable"],
  ),
};

const key = parameter("key", "path", { ...text, minLength: 1 });
const space = parameter("space", "query", { ...text, maxLength: SPACE_CHARS_MAX, default: "default" });
const idempotencyKey = parameter("Idempotency-Key", "header", text);

export const openApi = {
  openapi: "3.1.0",
  info: { title: "Latchkey", version: "1", description: "Locks over HTTP. Times are in milliseconds." },
  components: { schemas, securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  security: [{ bearer: [] }, {}],
  paths: {
    "/v1/latch/{key}/acquire": {
      parameters: [key, space],
      post: call("Acquire the key, waiting for it", "Acquired", "AcquireBody", [idempotencyKey]),
    },
    "/v1/latch/{key}/extend": {
      parameters: [key, space],
      post: call("Lengthen the lease", "Extended", "ExtendBody"),
    },
    "/v1/latch/{key}/release": {
      parameters: [key, space],
      post: call("Let the key go, to whoever is next or to a session that waits for it", "Released", "ReleaseBody", [
        idempotencyKey,
      ]),
    },
    "/v1/latch/{key}": {
      parameters: [key, space],
      get: call("Who holds the key and how many wait", "Key"),
      delete: call("Revoke the holders", "Revoked", "RevokeBody"),
    },
    "/v1/latch": {
      parameters: [
        space,
        parameter("prefix", "query", text),
        parameter("after", "query", text),
        parameter("count", "query", {
          type: "integer",
          minimum: 1,
          maximum: LIST_COUNT_MAX,
          default: LIST_COUNT_DEFAULT,
        }),
        parameter("queue", "query", { type: "boolean" }),
      ],
      get: call("The keys in use", "KeyList"),
    },
    ...idempotencyPaths([key, space], idempotencyKey),
    "/v1/latch/{key}/events": {
      parameters: [key, space],
      get: events("Who holds the key and how many wait, now and whenever that changes"),
    },
    "/v1/events": {
      parameters: [space, parameter("prefix", "query", text)],
      get: events("The same of all keys with the prefix"),
    },
    "/v1/session/{session}": {
      parameters: [parameter("session", "path", text), space],
      delete: call("Revoke a session with all its claims", "Revoked", "RevokeBody"),
    },
    "/v1/session": { get: plain("The WebSocket, see PROTOCOL.md", "101") },
    "/healthz": { get: plain("The process lives") },
    "/readyz": { get: plain("The host takes work") },
    "/metrics": { get: plain("Prometheus' text format") },
    "/openapi.json": { get: plain("This document") },
  },
};
