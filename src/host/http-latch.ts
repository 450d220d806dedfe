/** The HTTP calls on keys and sessions. Each asks the space and answers with what that came to. */

import { RevokeBody } from "../protocol/bodies.ts";
import { LIST_COUNT_DEFAULT, LIST_COUNT_MAX } from "../protocol/limits.ts";
import { isKey } from "../protocol/names.ts";
import { failed } from "./answers.ts";
import { isPermitted } from "./auth.ts";
import type { Answer } from "./calls.ts";
import { messageOf } from "./commands.ts";
import type { Call } from "./gate.ts";
import { asking, askStatus, forbidden, type Grants, onBoard, type Router } from "./http-call.ts";
import { LOCK_CALLS } from "./http-lock.ts";
import type { HostParts } from "./parts.ts";
import { json, problem } from "./problem.ts";
import { decodeSegment, rawPath, readBody, readKey } from "./request.ts";

/** An empty key is matched as well, so that it is told to be a bad key and not an unknown route. */
const KEY = "/v1/latch/:key{[^/]*}";

export function addLatchRoutes(router: Router, parts: HostParts, grants: Grants): void {
  router.get("/v1/latch", ({ var: { call } }) => listKeys(call, parts));
  for (const [name, serve] of LOCK_CALLS) {
    router.post(`${KEY}/${name}`, async ({ var: { call } }) => {
      const answer = await serve(call, rawPath(call.request).split("/")[3] ?? "", parts, grants);
      if (answer instanceof Response) return answer;
      if (answer.grant !== undefined) grants.note(call.request, answer.grant);
      return answer.toResponse();
    });
  }
  router.get(KEY, ({ var: { call } }) => showKey(call, parts));
  router.delete(KEY, ({ var: { call } }) => revokeKey(call, parts));
  router.delete("/v1/session/:session", ({ var: { call } }) => revokeSession(call, parts));
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
