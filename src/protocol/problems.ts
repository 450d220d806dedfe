/**
 * Everything that can be wrong with a request, under one stable code each: the `code` of an HTTP problem
 * (RFC 9457, application/problem+json) and of a `refused` or `error` frame.
 */

export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** Whether the same request may succeed later, unchanged. */
  readonly retryable: boolean;
}

export const PROBLEMS = {
  bad_json: { status: 400, title: "The body is not JSON", retryable: false },
  bad_request: { status: 400, title: "A field is missing or has a wrong value", retryable: false },
  bad_key: { status: 400, title: "The key is empty, too long or cannot be decoded", retryable: false },
  bad_space: { status: 400, title: "The space has a wrong name", retryable: false },
  unknown_frame: { status: 400, title: "No such frame type", retryable: false },
  fingerprint_mismatch: { status: 400, title: "The key was used with another fingerprint", retryable: false },
  unauthenticated: { status: 401, title: "A valid API key is needed", retryable: false },
  forbidden: { status: 403, title: "Not permitted", retryable: false },
  not_found: { status: 404, title: "No such route", retryable: false },
  unknown_token: { status: 404, title: "The token is not known for this key", retryable: false },
  method_not_allowed: { status: 405, title: "Not with this method", retryable: false },
  timeout: { status: 408, title: "The wait is over", retryable: true },
  cancelled: { status: 409, title: "The claim was withdrawn", retryable: true },
  limit_mismatch: {
    status: 409,
    title: "The key is in use with another limit",
    retryable: true,
  },
  depth_limit: { status: 409, title: "Nested too deep", retryable: false },
  not_waiting: { status: 409, title: "No such claim waits for the key", retryable: false },
  shared_holders: { status: 409, title: "Others hold the key as well", retryable: true },
  in_progress: { status: 409, title: "An attempt at the key is in progress", retryable: true },
  result_mismatch: { status: 409, title: "The attempt was completed with another result", retryable: false },
  attempt_lost: { status: 410, title: "The attempt is over", retryable: false },
  lost: { status: 410, title: "The token no longer holds the key", retryable: false },
  session_ended: { status: 410, title: "The session is over", retryable: false },
  too_large: { status: 413, title: "Too large", retryable: false },
  upgrade_required: { status: 426, title: "A WebSocket upgrade is needed here", retryable: false },
  protocol_version: { status: 426, title: "Another protocol version is needed", retryable: false },
  misdirected: { status: 421, title: "Another part of the space has the key", retryable: false },
  request_mismatch: {
    status: 422,
    title: "This request id was used with other arguments",
    retryable: false,
  },
  limit: { status: 429, title: "A limit is reached", retryable: true },
  internal: { status: 500, title: "Internal error", retryable: true },
  unavailable: { status: 503, title: "The store cannot be reached", retryable: true },
  draining: { status: 503, title: "The server is shutting down", retryable: true },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

/** A problem as HTTP answers it. Extension members follow the standard ones. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ProblemCode;
  readonly retryable: boolean;
  readonly retry_after_ms?: number;
  readonly key?: string;
  /** `lost`, `attempt_lost`: how it ended. */
  readonly reason?: string;
  /** `limit`: which one. */
  readonly limit?: string;
  /** `timeout`: the public part of who holds the key. */
  readonly holder?: unknown;
}

/** Problem types are URNs: stable names that promise no page. PROTOCOL.md describes each. */
export function problemType(code: ProblemCode): string {
  return `urn:latchkey:problem:${code}`;
}
