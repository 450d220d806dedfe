/** The HTTP calls on keys and sessions. Each asks the space and answers with what that came to. */

import type * as v from "valibot";
import type { Acquire } from "../core/index.ts";
import { AcquireBody, ExtendBody, ReleaseBody, RevokeBody } from "../protocol/bodies.ts";
import { HTTP_TIMEOUT_DEFAULT_MS, LIST_COUNT_DEFAULT, LIST_COUNT_MAX } from "../protocol/limits.ts";
import { isKey } from "../protocol/names.ts";
import { acquired, extended, failed, released } from "./answers.ts";
import { isPermitted } from "./auth.ts";
import type { Answer } from "./calls.ts";
import { acquireFields, messageOf } from "./commands.ts";
import type { Call } from "./gate.ts";
import { asking, forbidden, type Grants, isStillThere, onBoard, type Router, scopeOf } from "./http-call.ts";
import type { HostParts } from "./parts.ts";
import { json, problem } from "./problem.ts";
import { decodeSegment, rawPath, readBody, readKey, readRequestId } from "./request.ts";

type Serve = (call: Call, parts: HostParts, grants: Grants) => Promise<Response>;

/** An empty key is matched as well, so that it is told to be a bad key and not an unknown route. */
const KEY = "/v1/latch/:key{[^/]*}";

/** The calls that programs make for each lock. */
const DIRECT: ReadonlyMap<string, Serve> = new Map<string, Serve>([
  ["acquire", acquire],
  ["extend", extend],
  ["release", release],
]);

/**
 * Where the way over the router, which costs more than the lock, can be spared: what serves this request, provided that
 * it passes the gate. Requests of pages are not among them: their answers need more headers.
 */
export function directCall(request: Request): Serve | undefined {
  if (request.method !== "POST" || request.headers.has("origin")) return undefined;
  const [, version, kind, , name, ...more] = rawPath(request).split("/");
  if (version !== "v1" || kind !== "latch" || name === undefined || more.length > 0) return undefined;
  return DIRECT.get(name);
}

export function addLatchRoutes(router: Router, parts: HostParts, grants: Grants): void {
  router.get("/v1/latch", ({ var: { call } }) => listKeys(call, parts));
  for (const [name, serve] of DIRECT) {
    router.post(`${KEY}/${name}`, ({ var: { call } }) => serve(call, parts, grants));
  }
  router.get(KEY, ({ var: { call } }) => showKey(call, parts));
  router.delete(KEY, ({ var: { call } }) => revokeKey(call, parts));
  router.delete("/v1/session/:session", ({ var: { call } }) => revokeSession(call, parts));
}

async function acquire(call: Call, parts: HostParts, grants: Grants): Promise<Response> {
  const key = readKey(call.request);
  if (key instanceof Response) return key;
  const body = await readBody(call.request, AcquireBody);
  if (body instanceof Response) return body;
  const id = readRequestId(call.request, body.request_id);
  if (id instanceof Response) return id;
  if (body.steal === true && !isPermitted(call.credential, "steal")) return forbidden("steal");

  const from = scopeOf(call);
  const request = `acquire:${id ?? parts.mint.token()}`;
  const command = acquireOf(body, { from, request, key: parts.keys.inward(key) }, parts);
  const { signal } = call.request;
  if (signal.aborted) return failed({ kind: "gone" });
  const answered = await onBoard(call, parts, (board) => board.calls.acquire(command, signal));
  if (answered instanceof Response) return answered;
  const { answer, hasWaited } = answered;
  if (answer.kind === "ended" && answer.outcome === "timed_out") {
    return body.on_timeout === "ok" ? json({ status: "timeout" }) : waitIsOver(call, parts, key);
  }
  if (answer.kind !== "granted") return failed(answer, key);
  if (!(await isStillThere(call, parts, grants, { from, request, hasWaited }))) return failed({ kind: "gone" });
  return acquired(answer, key, parts.wire);
}

function acquireOf(
  body: v.InferOutput<typeof AcquireBody>,
  address: Pick<Acquire, "from" | "request" | "key">,
  parts: HostParts,
): Acquire {
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

async function extend(call: Call, parts: HostParts): Promise<Response> {
  const key = readKey(call.request);
  if (key instanceof Response) return key;
  const body = await readBody(call.request, ExtendBody);
  if (body instanceof Response) return body;
  const { token, ttl: ttlMs } = body;
  const command = { kind: "extend", ...asking(call, parts), key: parts.keys.inward(key), token, ttlMs } as const;
  const answer = await onBoard(call, parts, (board) => board.calls.ask(command));
  if (answer instanceof Response) return answer;
  return answer.kind === "extended" ? extended(answer, key, parts.wire) : failed(answer, key);
}

async function release(call: Call, parts: HostParts): Promise<Response> {
  const key = readKey(call.request);
  if (key instanceof Response) return key;
  const body = await readBody(call.request, ReleaseBody);
  if (body instanceof Response) return body;
  const id = readRequestId(call.request, body.request_id);
  if (id instanceof Response) return id;
  const address = { from: scopeOf(call), request: `release:${id ?? parts.mint.token()}` };
  const asked = { ...address, key: parts.keys.inward(key), token: body.token };
  const { hand_to: to } = body;
  const command =
    to === undefined ? ({ kind: "release", ...asked } as const) : ({ kind: "hand", ...asked, to } as const);
  const answer = await onBoard(call, parts, (board) => board.calls.ask(command));
  if (answer instanceof Response) return answer;
  return answer.kind === "released" ? released(answer) : failed(answer, key);
}

async function showKey(call: Call, parts: HostParts): Promise<Response> {
  const key = readKey(call.request);
  if (key instanceof Response) return key;
  const answer = await askStatus(call, parts, key);
  if (answer instanceof Response) return answer;
  return answer.kind === "status" ? json(parts.wire.key(answer)) : failed(answer, key);
}

async function listKeys(call: Call, parts: HostParts): Promise<Response> {
  const query = new URL(call.request.url).searchParams;
  const prefix = query.get("prefix") ?? "";
  const after = query.get("after");
  if (!isKey(prefix) || (after !== null && !isKey(after))) return problem("bad_key", "prefix or after is too long");
  const count = query.get("count") ?? String(LIST_COUNT_DEFAULT);
  const countMax = /^\d{1,4}$/.test(count) ? Number(count) : 0;
  if (countMax < 1 || countMax > LIST_COUNT_MAX) {
    return problem("bad_request", `count must be a whole number from 1 to ${LIST_COUNT_MAX}`);
  }
  const queue = query.get("queue") === "true";
  const list = { kind: "list", ...asking(call, parts), prefix: parts.keys.inward(prefix), countMax, queue } as const;
  const command = after === null ? list : { ...list, after: parts.keys.inward(after) };
  const answer = await onBoard(call, parts, (board) => board.calls.ask(command));
  if (answer instanceof Response) return answer;
  return answer.kind === "list" ? json(parts.wire.list(answer)) : failed(answer);
}

async function revokeKey(call: Call, parts: HostParts): Promise<Response> {
  const key = readKey(call.request);
  if (key instanceof Response) return key;
  const body = await readBody(call.request, RevokeBody);
  if (body instanceof Response) return body;
  if (!isPermitted(call.credential, "operate")) return forbidden("operate");
  const address = asking(call, parts);
  const command = { kind: "revoke_key", ...address, key: parts.keys.inward(key), ...messageOf(body) } as const;
  return revoked(await onBoard(call, parts, (board) => board.calls.ask(command)), key);
}

async function revokeSession(call: Call, parts: HostParts): Promise<Response> {
  const session = decodeSegment(rawPath(call.request).split("/")[3] ?? "");
  if (session === undefined) return problem("bad_request", "the id of the session cannot be decoded");
  const body = await readBody(call.request, RevokeBody);
  if (body instanceof Response) return body;
  if (!isPermitted(call.credential, "operate")) return forbidden("operate");
  const command = { kind: "revoke_session", ...asking(call, parts), session, ...messageOf(body) } as const;
  return revoked(await onBoard(call, parts, (board) => board.calls.ask(command)));
}

function revoked(answer: Answer | Response, key?: string): Response {
  if (answer instanceof Response) return answer;
  return answer.kind === "revoked" ? json({ status: "revoked", count: answer.count }) : failed(answer, key);
}

function askStatus(call: Call, parts: HostParts, key: string): Promise<Answer | Response> {
  const command = { kind: "status", ...asking(call, parts), key: parts.keys.inward(key) } as const;
  return onBoard(call, parts, (board) => board.calls.ask(command));
}
