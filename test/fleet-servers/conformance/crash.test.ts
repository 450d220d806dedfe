import { afterAll, describe } from "vitest";
import { Calm } from "../../conformance/calm.ts";
import { crash } from "../../conformance/crash.ts";
import { node } from "../../conformance/runtimes.ts";
import { Redis } from "../support/redis.ts";
import { hasRedisServer } from "../../fleet/support/redis-server.ts";
import { inFleet } from "../support/runtime.ts";

const LEASE_MS = 1500;
const ROUNDS = 4;

const redis = hasRedisServer() ? await Redis.start() : undefined;

/** The lease is short, since each waits for it. */
const calm = new Calm(3);

describe.skipIf(redis === undefined)("a server of a fleet, and no other that speaks for it", calm.options, () => {
  calm.watch(() => [async () => redis?.ask("PING")]);
  afterAll(() => redis?.[Symbol.asyncDispose]());
  crash(inFleet(node, redis?.url ?? "", LEASE_MS), ROUNDS);
});
