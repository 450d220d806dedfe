/** What the middleware answers in the handler's place: RFC 9457, application/problem+json, each with a stable `code`. */

const PROBLEMS = {
  key_missing: { status: 400, title: "An Idempotency-Key is needed", retryable: false },
  key_malformed: { status: 400, title: "The Idempotency-Key is malformed", retryable: false },
  in_progress: { status: 409, title: "The same request is being carried out", retryable: true },
  answer_not_kept: { status: 409, title: "Carried out before; the answer was too large to keep", retryable: false },
  fingerprint_mismatch: {
    status: 422,
    title: "The Idempotency-Key was used with another request",
    retryable: false,
  },
  too_large: { status: 413, title: "The body is too large", retryable: false },
  unavailable: { status: 503, title: "It cannot be known whether the request was carried out", retryable: true },
  attempt_lost: { status: 503, title: "The answer of another attempt counts", retryable: true },
  fence_missing: { status: 400, title: "A Latchkey-Fence is needed", retryable: false },
  fence_malformed: { status: 400, title: "The Latchkey-Fence is malformed", retryable: false },
  stale_fence: { status: 412, title: "A later holder of the lock has been here", retryable: false },
  fence_unavailable: { status: 503, title: "The highest fence is not known", retryable: true },
} as const satisfies Record<string, { status: number; title: string; retryable: boolean }>;

export type GuardCode = keyof typeof PROBLEMS;

/** Where nothing better is known, the caller is asked to come back after this long. */
const RETRY_AFTER_MS = 1000;

/** `retryAfterMs`: told of what is retryable, in the body and, in whole seconds, as `Retry-After`. */
export function problem(
  code: GuardCode,
  detail: string,
  { retryAfterMs = RETRY_AFTER_MS, headers }: { retryAfterMs?: number | undefined; headers?: Headers } = {},
): Response {
  const { status, title, retryable } = PROBLEMS[code];
  const type = `urn:latchkey:problem:${code}`;
  const body = { type, title, status, detail, code, retryable, ...(retryable && { retry_after_ms: retryAfterMs }) };
  const all = new Headers(headers);
  all.set("content-type", "application/problem+json");
  all.set("cache-control", "no-store");
  // 0 would be "at once", in a loop.
  if (retryable) all.set("retry-after", String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  return new Response(JSON.stringify(body), { status, headers: all });
}
