/** A runtime whose servers keep their locks in a Redis, and how it differs then. */

import { basename } from "node:path";
import { FLEET_LIMITS, fleetTimes } from "../../../src/fleet/limits.ts";
import type { FleetChoices } from "../../../src/options.ts";
import type { Runtime } from "../../conformance/runtimes.ts";

/** Servers in one folder are one fleet, as a server finds in its folder what it left there. */
export function inFleet(runtime: Runtime, redis: FleetChoices["redis"], leaseMs = 10_000): Runtime {
  const { heartbeatMs, deadlineMs } = fleetTimes({ leaseMs });
  return {
    ...runtime,
    name: `${runtime.name} in a fleet`,
    pingMs: heartbeatMs,
    deadlineMs,
    hasAdapters: false,
    waitersMax: FLEET_LIMITS.waitersPerKeyMax,
    claimsPerSessionMax: FLEET_LIMITS.claimsPerSessionMax,
    leaseMs,
    env: (folder) => ({ ...whereIs(redis), LATCHKEY_LEASE: `${leaseMs}ms`, LOCK_PREFIX: `${basename(folder)}:` }),
  };
}

/** The settings that name a Redis. */
function whereIs(redis: FleetChoices["redis"]): Readonly<Record<string, string>> {
  const place =
    typeof redis === "string"
      ? { REDIS_URL: redis }
      : { UPSTASH_REDIS_REST_URL: redis.url, UPSTASH_REDIS_REST_TOKEN: redis.token };
  return { LOCK_ADAPTER: "redis", ...place };
}
