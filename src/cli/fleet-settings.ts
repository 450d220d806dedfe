/** The part of the environment that says where a fleet's Redis is. Nothing that is printed has a password or a token in it. */

import { LEASE_DEFAULT_MS, LEASE_MAX_MS, LEASE_MIN_MS } from "../fleet/limits.ts";
import { RETRY_DEFAULT_MS, RETRY_MAX_MS, RETRY_MIN_MS } from "../fleet/limits.ts";
import { isRedisUrl } from "../fleet/redis-url.ts";
import type { FleetChoices } from "../options.ts";
import { duration, type Fail, type Read } from "./read.ts";

const PREFIX_CHARS_MAX = 64;
const WHERE = "redis needs REDIS_URL, or UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN";

/** `problem` hears of what is missing. */
export function parseFleet(read: Read, problem: (line: string) => void): FleetChoices {
  const tcp = read("REDIS_URL", undefined, parseRedisUrl);
  const url = read("UPSTASH_REDIS_REST_URL", undefined, parseRestUrl);
  const token = read("UPSTASH_REDIS_REST_TOKEN", undefined, parseToken);
  if (tcp !== undefined && url !== undefined) {
    problem("REDIS_URL: and UPSTASH_REDIS_REST_URL may name two places for locks: set one of them");
  }
  const rest = url !== undefined && token !== undefined ? { url, token } : undefined;
  const redis = tcp ?? rest;
  if (redis === undefined) problem(`LOCK_ADAPTER: ${WHERE}`);
  return {
    redis: redis ?? "",
    prefix: read("LOCK_PREFIX", undefined, parsePrefix),
    leaseMs: read("LATCHKEY_LEASE", LEASE_DEFAULT_MS, duration(LEASE_MIN_MS, LEASE_MAX_MS)),
    retryMs: read("LOCK_RETRY_INTERVAL", RETRY_DEFAULT_MS, duration(RETRY_MIN_MS, RETRY_MAX_MS)),
  };
}

/** Host and port, without what opens it. */
export function placeOf({ redis }: FleetChoices): string {
  return new URL(typeof redis === "string" ? redis : redis.url).host;
}

function parseRedisUrl(text: string, fail: Fail): string | undefined {
  return isRedisUrl(text)
    ? text
    : fail(
        "must be redis://host:port, or rediss://… for TLS, with name:password@ before the host and /number of a database behind it if need be",
      );
}

function parseRestUrl(text: string, fail: Fail): string | undefined {
  const isUrl = /^https?:\/\/[^/\s]/.test(text) && URL.canParse(text);
  return isUrl ? text : fail("must be the https:// address of the REST interface");
}

function parseToken(text: string, fail: Fail): string | undefined {
  return /^[!-~]+$/.test(text) ? text : fail("must be visible ASCII characters");
}

/** Braces would decide in which part of a cluster the keys are. */
function parsePrefix(text: string, fail: Fail): string | undefined {
  const isFit = text.length <= PREFIX_CHARS_MAX && /^[!-z|~]+$/.test(text);
  return isFit ? text : fail(`must be at most ${PREFIX_CHARS_MAX} visible ASCII characters without braces`);
}
