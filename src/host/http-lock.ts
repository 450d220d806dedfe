/** The calls that programs make for each lock: acquire, extend, release. What is spared here is felt by every one of them. */

import type * as v from "valibot";
import type { Acquire } from "../core/index.ts";
import { AcquireBody, ExtendBody, ReleaseBody } from "../protocol/bodies.ts";
import { HTTP_TIMEOUT_DEFAULT_MS } from "../protocol/limits.ts";
import { acquired, extended, failed, released } from "./answers.ts";
import type { Asked } from "./asked.ts";
import { isPermitted } from "./auth.ts";
import { acquireFields } from "./commands.ts";
import type { Call } from "./gate.ts";
import { isPlainAcquire, isPlainExtend, isPlainRelease } from "./hot-bodies.ts";
import { asking, askStatus, forbidden, type Grants, isGone, isStillThere, onBoard, scopeOf } from "./http-call.ts";
import type { HostParts } from "./parts.ts";
import { PlainAnswer } from "./plain.ts";
import { problem } from "./problem.ts";
import { keyOf, rawPath, readBody, readRequestId } from "./request.ts";

type Answered = Promise<Response | PlainAnswer>;

/** `segment`: the key as it stands in the path. */
type ServeLock = (call: Call, segment: string, parts: HostParts, grants: Grants) => Answered;

export const LOCK_CALLS: ReadonlyMap<string, ServeLock> = new Map<string, ServeLock>([
  ["acquire", withBody(AcquireBody, isPlainAcquire, acquire)],
  ["extend", withBody(ExtendBody, isPlainExtend, extend)],
  ["release", withBody(ReleaseBody, isPlainRelease, release)],
]);

/**
 * Where the way over the router, which costs more than the lock, can be spared: what serves this request, provided that
 * it passes the gate. Requests of pages are not among them: their answers need more headers.
 */
export function lockCall(request: Asked): { readonly serve: ServeLock; readonly segment: string } | undefined {
  if (request.method !== "POST") return undefined;
  const path = rawPath(request);
  if (!path.startsWith(PREFIX)) return undefined;
  const end = path.indexOf("/", PREFIX.length);
  const serve = end === -1 ? undefined : LOCK_CALLS.get(path.slice(end + 1));
  if (serve === undefined || request.headers.has("origin")) return undefined;
  return { serve, segment: path.slice(PREFIX.length, end) };
}

const PREFIX = "/v1/latch/";

/** Serves what has a key and a body that `schema` reads. `isPlain` sees sooner that it would. */
function withBody<Schema extends v.GenericSchema>(
  schema: Schema,
  isPlain: (value: object) => value is v.InferOutput<Schema> & object,
  serve: (call: Call, key: string, body: v.InferOutput<Schema>, parts: HostParts, grants: Grants) => Answered,
): ServeLock {
  const options = { isPlain };
  return async (call, segment, parts, grants) => {
    const key = keyOf(segment);
    if (key instanceof Response) return key;
    const body = await readBody(call.request, schema, options);
    return body instanceof Response ? body : serve(call, key, body, parts, grants);
  };
}

async function acquire(call: Call, key: string, body: AcquireBody, parts: HostParts, grants: Grants): Answered {
  const id = readRequestId(call.request, body.request_id);
  if (id instanceof Response) return id;
  if (body.steal === true && !isPermitted(call.credential, "steal")) return forbidden("steal");

  const from = scopeOf(call);
  const request = `acquire:${id ?? parts.requests.next()}`;
  const command = acquireOf(body, { from, request, key: parts.keys.inward(key) }, parts);
  const gone = isGone(call, parts);
  if (gone instanceof Promise ? await gone : gone) return failed({ kind: "gone" });
  const answered = await onBoard(call, parts, (board) => board.calls.acquire(command, call.request));
  if (answered instanceof Response) return answered;
  const { answer, hasWaited, turnsToKnow } = answered;
  if (answer.kind === "ended" && answer.outcome === "timed_out") {
    return body.on_timeout === "ok" ? new PlainAnswer({ status: "timeout" }) : waitIsOver(call, parts, key);
  }
  if (answer.kind !== "granted") return failed(answer, key);
  const isThere = isStillThere(call, turnsToKnow, { from, request, hasWaited }, grants, gone instanceof Promise);
  if (isThere instanceof Promise ? !(await isThere) : !isThere) return failed({ kind: "gone" });
  return new PlainAnswer(acquired(answer, key, parts.wire), { space: call.space, from, request, hasWaited });
}

function acquireOf(body: AcquireBody, address: Pick<Acquire, "from" | "request" | "key">, parts: HostParts): Acquire {
  return {
    kind: "acquire",
    ...address,
    session: false,
    ...acquireFields(body),
    timeoutMs: body.timeout ?? HTTP_TIMEOUT_DEFAULT_MS,
    ttlMs: body.ttl ?? parts.settings.ttlDefaultMs,
    newToken: parts.mint.token(),
  };
}

/** Says who holds the key, as far as everybody may know. */
async function waitIsOver(call: Call, parts: HostParts, key: string): Promise<Response> {
  const answer = await askStatus(call, parts, key);
  const isKnown = !(answer instanceof Response) && answer.kind === "status";
  const holder = isKnown ? parts.wire.key(answer).holders[0] : undefined;
  return problem("timeout", "the wait is over", { key, ...(holder === undefined ? undefined : { holder }) });
}

async function extend(call: Call, key: string, { token, ttl: ttlMs }: ExtendBody, parts: HostParts): Answered {
  const command = { kind: "extend", ...asking(call, parts), key: parts.keys.inward(key), token, ttlMs } as const;
  const answer = await onBoard(call, parts, (board) => board.calls.ask(command));
  if (answer instanceof Response) return answer;
  return answer.kind === "extended" ? new PlainAnswer(extended(answer, key, parts.wire)) : failed(answer, key);
}

async function release(call: Call, key: string, body: ReleaseBody, parts: HostParts): Answered {
  const id = readRequestId(call.request, body.request_id);
  if (id instanceof Response) return id;
  const address = { from: scopeOf(call), request: `release:${id ?? parts.requests.next()}` };
  const asked = { ...address, key: parts.keys.inward(key), token: body.token };
  const { hand_to: to } = body;
  const command =
    to === undefined ? ({ kind: "release", ...asked } as const) : ({ kind: "hand", ...asked, to } as const);
  const answer = await onBoard(call, parts, (board) => board.calls.ask(command));
  if (answer instanceof Response) return answer;
  return answer.kind === "released" ? new PlainAnswer(released(answer)) : failed(answer, key);
}
