/** What comes before the handler: is this request new, a repeat, or neither? Whatever fails here fails before anything is done. */

import type { Context } from "hono";
import { LimitError, SessionClosedError, UnavailableError } from "../client/errors.ts";
import type { Begun, IdempotencyCalls } from "../client/idempotency-calls.ts";
import { IdempotencyInProgressError, IdempotencyMismatchError } from "../client/idempotency-errors.ts";
import { readUpTo } from "./bytes.ts";
import { requestFingerprint } from "./fingerprint.ts";
import { HEADER_KEY_BYTES_MAX, readHeaderKey, recordKey } from "./key.ts";
import type { IdempotencyOptions } from "./options.ts";
import { problem } from "./problems.ts";

export const HEADER = "Idempotency-Key";

const BODY_BYTES_MAX = 1024 * 1024;
/** How long the server may be without an answer, beyond what was asked for. */
const ANSWER_MS = 10_000;

export interface Opened {
  readonly calls: IdempotencyCalls;
  readonly key: string;
  readonly begun: Begun;
}

/** Begins the attempt, or says why not. */
export async function open(c: Context, header: string, options: IdempotencyOptions): Promise<Opened | Response> {
  const { principal, ttl, lease, timeout, prefix = "http/", bodyBytesMax = BODY_BYTES_MAX } = options;
  const { fingerprint = ({ req }, bytes) => requestFingerprint(req.raw, bytes) } = options;
  const name = readHeaderKey(header);
  if (name === undefined) {
    return problem("key_malformed", `${HEADER} must be 1 to ${HEADER_KEY_BYTES_MAX} ASCII characters, quoted or bare`);
  }
  const body = await bodyOf(c, bodyBytesMax);
  if (body === undefined) return problem("too_large", `a body has at most ${bodyBytesMax} bytes`);
  const calls = typeof options.calls === "function" ? options.calls(c) : options.calls;
  const key = await recordKey(prefix, named(await principal(c)), name);
  const asked = { fingerprint: await fingerprint(c, body), ttl, lease, timeout, renew: true };
  const patience = patienceOf(c.req.raw, timeout ?? 0);
  try {
    return { calls, key, begun: await calls.begin(key, { ...asked, signal: patience.signal }) };
  } catch (error) {
    return patience.signal.aborted ? problem("unavailable", "nothing was done") : refusalOf(error);
  } finally {
    patience.end();
  }
}

/** Callers whose name somebody forgot would all be one, and get each other's answers. */
function named(principal: string): string {
  if (typeof principal !== "string") throw new TypeError("the principal of a request must be a string");
  return principal;
}

/** Ends with the caller, and when there is no answer: a session would wait for its server for as long as it takes. */
function patienceOf({ signal: hangUp }: Request, timeoutMs: number): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  const timer = setTimeout(stop, timeoutMs + ANSWER_MS);
  if (hangUp.aborted) stop();
  else hangUp.addEventListener("abort", stop, { once: true });
  const end = (): void => {
    clearTimeout(timer);
    hangUp.removeEventListener("abort", stop);
  };
  return { signal: controller.signal, end };
}

/** What the caller can do something about, and what may be over soon. All else is a mistake of this program. */
function refusalOf(error: unknown): Response {
  if (error instanceof IdempotencyInProgressError) {
    return problem("in_progress", "an attempt at it is under way", { retryAfterMs: error.retryAfterMs });
  }
  if (error instanceof IdempotencyMismatchError) {
    return problem("fingerprint_mismatch", `this ${HEADER} belongs to a request with another method, path or body`);
  }
  if (error instanceof UnavailableError || error instanceof LimitError) {
    return problem("unavailable", "nothing was done", { retryAfterMs: error.retryAfterMs });
  }
  if (error instanceof SessionClosedError) return problem("unavailable", "nothing was done");
  throw error;
}

/** Undefined: too large. The handler can still read it. */
async function bodyOf({ req }: Context, bytesMax: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (Number(req.header("content-length") ?? 0) > bytesMax) return undefined;
  // Read before, by a validator for example: then hono has it.
  if (Object.keys(req.bodyCache).length > 0) {
    const bytes = new Uint8Array(await req.arrayBuffer());
    return bytes.byteLength > bytesMax ? undefined : bytes;
  }
  // A copy and not the body itself, since handlers, and runtimes, go by the very request that they know.
  const read = await readUpTo(req.raw.clone().body, bytesMax);
  if (read.isWhole) return read.bytes;
  // Not awaited: it is only over when the handler's half is cancelled too.
  read.rest.cancel().catch(() => undefined);
  return undefined;
}
