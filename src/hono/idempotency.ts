/** Middleware that carries a request out once: whoever sends it again, with the same Idempotency-Key, gets the same answer. */

import type { Context, MiddlewareHandler } from "hono";
import { HEADER, open } from "./open.ts";
import type { IdempotencyOptions, IdempotencyVariables } from "./options.ts";
import { problem } from "./problems.ts";
import { replay, REPLAYED } from "./replay.ts";
import { carryOut } from "./run.ts";

/** Headers that belong to an answer, and not to the connection, the caller or the moment. */
const HEADERS = [
  "Cache-Control",
  "Content-Disposition",
  "Content-Encoding",
  "Content-Language",
  "Content-Location",
  "Content-Type",
  "ETag",
  "Last-Modified",
  "Link",
  "Location",
] as const;

const PASSED_BY: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);

/**
 * Mount it behind what says who is asking, what limits how often, and `cors()`; before whatever must not happen twice.
 * GET, HEAD, OPTIONS and TRACE pass by. Throws `RangeError` when `headers` names `Set-Cookie`.
 */
export function idempotency(options: IdempotencyOptions): MiddlewareHandler<{ Variables: IdempotencyVariables }> {
  const { required = true, isKept = ({ status }) => status < 500, headers = HEADERS, onError = print } = options;
  if (headers.some((name) => name.toLowerCase() === "set-cookie")) {
    throw new RangeError("Set-Cookie is for one caller only, and never replayed");
  }
  return async (c, next) => {
    if (PASSED_BY.has(c.req.method)) return next();
    // Mounted twice on one path, `/a` and `/a/*` say, it would wait for itself.
    if (c.get("idempotency")?.attempt !== undefined) return next();
    const header = c.req.header(HEADER);
    if (header === undefined && !required) return next();
    tellPage(c);
    if (header === undefined) return problem("key_missing", `the header ${HEADER} must be sent`);
    const opened = await open(c, header, options);
    if (opened instanceof Response) return opened;
    const { begun, calls, key } = opened;
    if (begun.status === "replay") return replay(begun, key, onError);
    c.set("idempotency", begun);
    const later = (work: Promise<unknown>): void => outlive(c, work);
    const work = carryOut(c, next, { calls, key, begun, isKept, headers, onError, later });
    later(work);
    return work;
  };
}

/** Whatever page may read the answer may also see whether it was replayed, and when to come again. */
function tellPage({ res }: Context): void {
  if (!res.headers.has("access-control-allow-origin")) return;
  res.headers.append("access-control-expose-headers", `${REPLAYED}, Retry-After`);
}

/** On Workers an invocation ends with its answer, or with a caller that hangs up. What has begun should still be completed. */
function outlive(c: Context, work: Promise<unknown>): void {
  // Its errors are told elsewhere: to the app, or to `onError`.
  const settled = work.catch(() => undefined);
  try {
    c.executionCtx.waitUntil(settled);
  } catch {
    // Elsewhere there is no such thing, and no need for it.
  }
}

function print(error: unknown, { where }: { readonly where: string }): void {
  console.error(`latchkey: error in ${where}:`, error);
}
