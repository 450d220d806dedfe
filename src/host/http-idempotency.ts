/** The HTTP calls on idempotency records. Each asks the space and answers with what that came to. */

import { type Begin, type RecordCommand, type RecordStatusTold } from "../core/index.ts";
import { BeginBody, CompleteBody, ExtendAttemptBody, FailBody } from "../protocol/idempotency-bodies.ts";
import { isContentType } from "../protocol/idempotency-fields.ts";
import { ATTEMPT_HEADER, ATTEMPT_NUMBER_HEADER, REPLAYED_HEADER } from "../protocol/headers.ts";
import { RESULT_BODY_BYTES_MAX, RESULT_BYTES_MAX, TOKEN_CHARS_MAX } from "../protocol/limits.ts";
import { failed } from "./answers.ts";
import type { Asked } from "./asked.ts";
import { isPermitted } from "./auth.ts";
import type { Answer } from "./calls.ts";
import type { Call } from "./gate.ts";
import { asking, forbidden, type Grants, isGone, isStillThere, onBoard, type Router, scopeOf } from "./http-call.ts";
import { beginFields, CONTENT_TYPE_DEFAULT, RESULT_TOO_LARGE } from "./idempotency-commands.ts";
import type { HostParts } from "./parts.ts";
import { json, problem } from "./problem.ts";
import { readBody, readBytes, readKey, readRequestId } from "./request.ts";
import type { Told, Wire } from "./wire.ts";

const KEY = "/v1/idempotency/:key{[^/]*}";

export function addIdempotencyRoutes(router: Router, parts: HostParts, grants: Grants): void {
  router.post(`${KEY}/begin`, ({ var: { call } }) => begin(call, parts, grants));
  router.post(`${KEY}/complete`, ({ var: { call } }) => complete(call, parts));
  router.post(`${KEY}/fail`, ({ var: { call } }) => fail(call, parts));
  router.post(`${KEY}/extend`, ({ var: { call } }) => extend(call, parts));
  router.get(KEY, ({ var: { call } }) => show(call, parts));
  router.delete(KEY, ({ var: { call } }) => forget(call, parts));
}

async function begin(call: Call, parts: HostParts, grants: Grants): Promise<Response> {
  const key = readKey(call.request);
  if (key instanceof Response) return key;
  const body = await readBody(call.request, BeginBody);
  if (body instanceof Response) return body;
  const id = readRequestId(call.request, body.request_id);
  if (id instanceof Response) return id;
  const address = { from: scopeOf(call), request: `begin:${id ?? parts.requests.next()}` };
  const fields = beginFields(body, parts);
  const command: Begin = { kind: "begin", ...address, session: false, key: parts.keys.inward(key), ...fields };
  const gone = isGone(call, parts);
  if (gone instanceof Promise ? await gone : gone) return failed({ kind: "gone" });
  const answered = await onBoard(call, parts, (board) => board.calls.begin(command, call.request));
  if (answered instanceof Response) return answered;
  const { answer, hasWaited, turnsToKnow } = answered;
  if (answer.kind === "replay") return replayed(answer);
  if (answer.kind !== "started") return failed(answer, key);
  const isThere = await isStillThere(call, turnsToKnow, { ...address, hasWaited }, grants, gone instanceof Promise);
  if (!isThere) return failed({ kind: "gone" });
  grants.note(call.request, { space: call.space, ...address, hasWaited });
  const { attempt, number } = answer;
  return json({ status: "started", key, attempt, number, ...leaseOf(answer, parts.wire) }, 201);
}

/** Byte for byte what the attempt completed with. */
function replayed({ result, contentType, number }: Extract<Told, { kind: "replay" }>): Response {
  return new Response(result as Uint8Array<ArrayBuffer>, {
    headers: {
      "content-type": contentType,
      "cache-control": "no-store",
      // It is somebody's bytes: no browser shall find a page or a script in them.
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'",
      [REPLAYED_HEADER]: "true",
      [ATTEMPT_NUMBER_HEADER]: String(number),
    },
  });
}

/** With the attempt in a header the body is the result as it is; else it is JSON that has both. */
async function complete(call: Call, parts: HostParts): Promise<Response> {
  const key = readKey(call.request);
  if (key instanceof Response) return key;
  const shown = call.request.headers.has(ATTEMPT_HEADER) ? await readRaw(call.request) : await readJson(call.request);
  if (shown instanceof Response) return shown;
  const answer = await ask(call, parts, key, { kind: "complete", ...shown });
  if (answer instanceof Response) return answer;
  if (answer.kind !== "completed") return failed(answer, key);
  return json({ status: "completed", ...(answer.already ? { already: true } : undefined) });
}

interface Shown {
  readonly attempt: string;
  readonly result: Uint8Array;
  readonly contentType: string;
}

async function readRaw(request: Asked): Promise<Shown | Response> {
  const attempt = readAttempt(request);
  if (attempt instanceof Response) return attempt;
  const contentType = request.headers.get("content-type") ?? "application/octet-stream";
  if (!isContentType(contentType)) return problem("bad_request", "the content type is too long, or not ASCII");
  const result = await readBytes(request, RESULT_BYTES_MAX);
  return result instanceof Response ? result : { attempt, result, contentType };
}

async function readJson(request: Asked): Promise<Shown | Response> {
  const body = await readBody(request, CompleteBody, { bytesMax: RESULT_BODY_BYTES_MAX });
  if (body instanceof Response) return body;
  const { attempt } = body;
  const result = new TextEncoder().encode(JSON.stringify(body.result));
  if (result.byteLength > RESULT_BYTES_MAX) return problem("too_large", RESULT_TOO_LARGE);
  return { attempt, result, contentType: CONTENT_TYPE_DEFAULT };
}

async function fail(call: Call, parts: HostParts): Promise<Response> {
  const key = readKey(call.request);
  if (key instanceof Response) return key;
  const body = await readBody(call.request, FailBody);
  if (body instanceof Response) return body;
  const answer = await ask(call, parts, key, { kind: "fail", attempt: body.attempt });
  if (answer instanceof Response) return answer;
  return answer.kind === "failed" ? json({ status: "failed" }) : failed(answer, key);
}

async function extend(call: Call, parts: HostParts): Promise<Response> {
  const key = readKey(call.request);
  if (key instanceof Response) return key;
  const body = await readBody(call.request, ExtendAttemptBody);
  if (body instanceof Response) return body;
  const { attempt, lease: leaseMs } = body;
  const answer = await ask(call, parts, key, { kind: "extend_attempt", attempt, leaseMs });
  if (answer instanceof Response) return answer;
  if (answer.kind !== "attempt_extended") return failed(answer, key);
  return json({ status: "extended", key, ...leaseOf(answer, parts.wire) });
}

async function show(call: Call, parts: HostParts): Promise<Response> {
  const key = readKey(call.request);
  if (key instanceof Response) return key;
  const answer = await ask(call, parts, key, { kind: "record_status" });
  if (answer instanceof Response) return answer;
  return answer.kind === "record_status" ? json(statusOf(answer, key, parts.wire)) : failed(answer, key);
}

/** Never the result, nor the attempt's token. */
function statusOf({ record }: RecordStatusTold, key: string, wire: Wire): object {
  if (record === undefined) return { key, status: "none" };
  const { state, attempts, waiting, leaseUntil, expiresAt, contentType, resultBytes } = record;
  return {
    key,
    status: state,
    attempts,
    waiting,
    ...(leaseUntil === undefined ? undefined : { lease_expires_in: wire.expiresIn(leaseUntil) }),
    ...(expiresAt === undefined ? undefined : { expires_in: wire.expiresIn(expiresAt) }),
    ...(contentType === undefined ? undefined : { type: contentType }),
    ...(resultBytes === undefined ? undefined : { bytes: resultBytes }),
  };
}

/** By whoever shows the attempt that runs or that completed it, else by an operator. */
async function forget(call: Call, parts: HostParts): Promise<Response> {
  const key = readKey(call.request);
  if (key instanceof Response) return key;
  const isOwner = call.request.headers.has(ATTEMPT_HEADER);
  const attempt = isOwner ? readAttempt(call.request) : undefined;
  if (attempt instanceof Response) return attempt;
  if (!isOwner && !isPermitted(call.credential, "operate")) return forbidden("operate");
  const answer = await ask(call, parts, key, { kind: "forget", ...(attempt === undefined ? undefined : { attempt }) });
  if (answer instanceof Response) return answer;
  return answer.kind === "forgotten" ? json({ status: "forgotten", existed: answer.existed }) : failed(answer, key);
}

function readAttempt(request: Asked): string | Response {
  const attempt = request.headers.get(ATTEMPT_HEADER) ?? "";
  if (attempt !== "" && attempt.length <= TOKEN_CHARS_MAX) return attempt;
  return problem("bad_request", `Latchkey-Attempt must be 1 to ${TOKEN_CHARS_MAX} characters`);
}

type Unaddressed<Command> = Command extends unknown ? Omit<Command, "from" | "request" | "key" | "found"> : never;

function ask(
  call: Call,
  parts: HostParts,
  key: string,
  asked: Unaddressed<Exclude<RecordCommand, Begin>>,
): Promise<Answer> | Response {
  const command = { ...asked, ...asking(call, parts), key: parts.keys.inward(key) };
  return onBoard(call, parts, (board) => board.calls.ask(command));
}

function leaseOf({ leaseMs, expiresAt }: { leaseMs: number; expiresAt: number }, wire: Wire): object {
  return { lease: leaseMs, expires_in: wire.expiresIn(expiresAt), expires_at: wire.epochSeconds(expiresAt) };
}
