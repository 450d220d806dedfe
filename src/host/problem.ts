/** Errors as HTTP answers them: RFC 9457, application/problem+json. */

import { type Problem, type ProblemCode, PROBLEMS, problemType } from "../protocol/problems.ts";
import { PLAIN_HEADERS } from "./plain.ts";

export type ProblemExtras = Partial<Pick<Problem, "retry_after_ms" | "key" | "reason" | "limit" | "holder">>;

/** A caller that is told to come again without being told when waits this long. */
const RETRY_AFTER_MS = 1000;

export function problem(
  code: ProblemCode,
  detail: string,
  extras: ProblemExtras = {},
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { status, title, retryable } = PROBLEMS[code];
  const isLater = status === 429 || status === 503 || code === "in_progress";
  const retryAfterMs = extras.retry_after_ms ?? RETRY_AFTER_MS;
  const body: Problem = {
    type: problemType(code),
    title,
    status,
    detail,
    code,
    retryable,
    ...extras,
    ...(isLater ? { retry_after_ms: retryAfterMs } : undefined),
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(isLater ? { "retry-after": String(Math.ceil(retryAfterMs / 1000)) } : undefined),
      ...headers,
    },
  });
}

export function json(body: object, status: number = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: PLAIN_HEADERS });
}
