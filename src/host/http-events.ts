/** The HTTP calls that go on telling. */

import { isKey } from "../protocol/names.ts";
import type { Call } from "./gate.ts";
import type { Router } from "./http-call.ts";
import type { HostParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { readKey } from "./request.ts";
import { eventsOf } from "./watch/events.ts";

export function addEventRoutes(router: Router, parts: HostParts): void {
  router.get("/v1/latch/:key{[^/]*}/events", ({ var: { call } }) => keyEvents(call, parts));
  router.get("/v1/events", ({ var: { call } }) => prefixEvents(call, parts));
}

async function keyEvents(call: Call, parts: HostParts): Promise<Response> {
  const key = readKey(call.request);
  return key instanceof Response ? key : eventsOf(call, { key: parts.keys.inward(key) }, parts);
}

async function prefixEvents(call: Call, parts: HostParts): Promise<Response> {
  const prefix = new URL(call.request.url).searchParams.get("prefix") ?? "";
  if (!isKey(prefix)) return problem("bad_key", "the prefix is too long");
  return eventsOf(call, { prefix: parts.keys.inward(prefix) }, parts);
}
