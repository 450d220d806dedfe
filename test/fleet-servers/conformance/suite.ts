/** The suite that every runtime passes, passed by servers of a fleet. */

import { afterAll, describe } from "vitest";
import type { Runtime } from "../../conformance/runtimes.ts";
import { ALL_TOPICS, conformance, type Topic } from "../../conformance/suite.ts";
import { type PLACES, startPlace } from "../../fleet/support/places.ts";
import { hasRedisServer } from "../../fleet/support/redis-server.ts";
import { inFleet } from "../support/runtime.ts";

/** What locks are is Redis' business here, and how servers start, listen and end is as it is without one: that is looked at once. */
export const LOCK_TOPICS: readonly Topic[] = [
  "calls",
  "queue",
  "holding",
  "watching",
  "repeated requests",
  "frames",
  "sessions",
  "idempotent work",
];
/** How much a server holds back for who does not read is its own business, and what such a one asks for are megabytes. */
export const TOPICS: readonly Topic[] = ALL_TOPICS.filter((topic) => topic !== "slow readers");

export async function conformanceInFleet(
  runtime: Runtime,
  kind: (typeof PLACES)[number],
  topics: readonly Topic[],
): Promise<void> {
  const place = hasRedisServer() ? await startPlace(kind, "--appendonly", "yes") : undefined;
  describe.skipIf(place === undefined)(`with Redis ${kind}`, () => {
    afterAll(() => place?.[Symbol.asyncDispose]());
    conformance(inFleet(runtime, place?.redis ?? ""), topics);
  });
}
