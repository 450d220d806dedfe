/** The one time that a request is carried out. */

import type { Context, Next } from "hono";
import { pause, systemPorts } from "../client/clock.ts";
import { LatchkeyError } from "../client/errors.ts";
import type { IdempotencyCalls, Started } from "../client/idempotency-calls.ts";
import { AttemptLostError } from "../client/idempotency-errors.ts";
import { readUpTo, streamOf } from "./bytes.ts";
import { RESULT_BYTES_MAX } from "../protocol/limits.ts";
import { type Answer, encodeAnswer, ENVELOPE_TYPE } from "./envelope.ts";
import { problem } from "./problems.ts";

export interface Run {
  readonly calls: IdempotencyCalls;
  readonly key: string;
  readonly begun: Started;
  readonly isKept: (response: Response) => boolean;
  /** The names of those that are stored. */
  readonly headers: readonly string[];
  readonly onError: (error: unknown, context: { readonly where: string }) => void;
  /** Takes what goes on when the caller has its answer. */
  readonly later: (work: Promise<unknown>) => void;
}

/** How long between two tries to store an answer. */
const AGAIN_MS = 1000;

/** Leaves in `c.res` what the caller is to get. Rejects with what the handler, or the stream of its answer, threw. */
export async function carryOut(c: Context, next: Next, run: Run): Promise<void> {
  const outer = new Headers(c.res.headers);
  let answer: Answer | undefined;
  try {
    await next();
    // A handler that forgot to answer is an error, which hono tells after this.
    answer = c.finalized && run.isKept(c.res) ? await taken(c, run.headers) : undefined;
  } catch (error) {
    await giveUp(run);
    throw error;
  }
  if (answer === undefined) await giveUp(run);
  else if (!(await isCounted(run, answer))) {
    // Not the handler's headers: a cookie would be as wrong as the body.
    c.res = undefined;
    c.res = problem("attempt_lost", "it took too long: send the request again for the answer that counts", {
      headers: outer,
    });
  }
}

/** The answer as it is stored. It is read to its end first, and then put in the place of the one that was read. */
async function taken(c: Context, names: readonly string[]): Promise<Answer> {
  const { status, statusText, headers, body } = c.res;
  const bare: Answer = { status, headers: chosen(headers, names), body: undefined };
  const bytesMax = RESULT_BYTES_MAX - encodeAnswer(bare).byteLength;
  if (bytesMax < 0) return { ...bare, headers: [] };
  if (body === null) return { ...bare, body: new Uint8Array() };
  const read = await readUpTo(body, bytesMax);
  c.res = undefined;
  c.res = new Response(read.isWhole ? read.bytes : streamOf(read.parts, read.rest), { status, statusText, headers });
  return read.isWhole ? { ...bare, body: read.bytes } : bare;
}

/**
 * Whether this is the answer that every repeat gets. When the store cannot be asked nobody knows yet, and the caller gets it: it is
 * what was done, and a caller that is not told would send the request again.
 */
async function isCounted(run: Run, answer: Answer): Promise<boolean> {
  const outcome = await complete(run, answer);
  if (outcome === "again") run.later(completeLater(run, answer));
  return outcome !== "lost";
}

/** While the attempt lives, its answer can still become the one that counts. */
async function completeLater(run: Run, answer: Answer): Promise<void> {
  for (let outcome: Outcome = "again"; outcome === "again"; outcome = await complete(run, answer)) {
    await pause(systemPorts, AGAIN_MS, run.begun.signal);
  }
}

type Outcome = "stored" | "lost" | "again" | "refused";

async function complete(run: Run, answer: Answer): Promise<Outcome> {
  const { calls, key, begun, onError } = run;
  try {
    await calls.complete(key, begun.attempt, encodeAnswer(answer), ENVELOPE_TYPE);
    return "stored";
  } catch (error) {
    if (error instanceof AttemptLostError || begun.signal.aborted) return "lost";
    onError(error, { where: "complete" });
    if (error instanceof LatchkeyError && error.retryable) return "again";
    // It will never be stored, and must not be waited for without end.
    await giveUp(run);
    return "refused";
  }
}

/** Another request with this key may start at once, and not only when the lease is over. */
async function giveUp({ calls, key, begun, onError }: Run): Promise<void> {
  try {
    await calls.fail(key, begun.attempt);
  } catch (error) {
    if (!(error instanceof AttemptLostError)) onError(error, { where: "fail" });
  }
}

function chosen(headers: Headers, names: readonly string[]): Answer["headers"] {
  return names.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
}
