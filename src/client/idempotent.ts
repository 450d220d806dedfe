/** What all clients do alike on top of the plain calls about idempotent work. */

import { UnavailableError } from "./errors.ts";
import type { Attempt, IdempotencyCalls, IdempotentOptions, Replay } from "./idempotency-calls.ts";
import { AttemptLostError } from "./idempotency-errors.ts";
import type { OnError } from "./locks.ts";

const JSON_TYPE = "application/json";

export async function idempotent<T>(
  calls: IdempotencyCalls,
  onError: OnError,
  key: string,
  options: IdempotentOptions,
  work: (attempt: Attempt) => T | PromiseLike<T>,
): Promise<T> {
  const begun = await calls.begin(key, { ...options, renew: true });
  if (begun.status === "replay") return resultOf(begun) as T;
  const { attempt } = begun;
  let result: T;
  let text: string;
  try {
    result = await work(begun);
    text = textOf(result);
  } catch (error) {
    // An error of the work comes through whatever else happens.
    await giveUp(calls, onError, key, attempt);
    throw error;
  }
  begun.signal.throwIfAborted();
  try {
    await calls.complete(key, attempt, text, JSON_TYPE);
  } catch (error) {
    // Without an answer it may be stored; if it is not, the lease ends the attempt.
    if (!(error instanceof UnavailableError)) await giveUp(calls, onError, key, attempt);
    throw error;
  }
  return result;
}

async function giveUp(calls: IdempotencyCalls, onError: OnError, key: string, attempt: string): Promise<void> {
  try {
    await calls.fail(key, attempt);
  } catch (error) {
    if (!(error instanceof AttemptLostError)) onError(error, { where: "fail" });
  }
}

/** Work that gives nothing is stored as nothing, which is no JSON. */
function textOf(result: unknown): string {
  return JSON.stringify(result) ?? "";
}

function resultOf({ result }: Replay): unknown {
  const text = new TextDecoder().decode(result);
  return text === "" ? undefined : JSON.parse(text);
}
