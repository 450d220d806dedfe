/**
 * The bodies of the calls that programs make for each lock, checked by hand as in `hot-frames.ts`. The schemas stay the truth:
 * whatever is not plainly right goes to them, and a test holds the two together.
 */

import type { AcquireBody, ExtendBody, ReleaseBody } from "../protocol/bodies.ts";
import { HTTP_TIMEOUT_MAX_MS, REQUEST_CHARS_MAX, TOKEN_CHARS_MAX, TTL_MAX_MS, TTL_MIN_MS } from "../protocol/limits.ts";
import { isShortText, isWhole } from "./hot-frames.ts";

type Members = Readonly<Record<string, unknown>>;

/** False: ask the schema. True: the schema would read it as it is. So with the others. */
export function isPlainAcquire(value: object): value is AcquireBody {
  for (const name in value) {
    const member = (value as Members)[name];
    switch (name) {
      case "ttl":
        if (!isWhole(member, TTL_MIN_MS, TTL_MAX_MS)) return false;
        break;
      case "timeout":
        if (!isWhole(member, 0, HTTP_TIMEOUT_MAX_MS)) return false;
        break;
      case "mode":
        if (member !== "exclusive" && member !== "shared") return false;
        break;
      case "request_id":
        if (!isShortText(member, REQUEST_CHARS_MAX)) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

export function isPlainRelease(value: object): value is ReleaseBody {
  let hasToken = false;
  for (const name in value) {
    if (name !== "token" || !isShortText((value as Members)[name], TOKEN_CHARS_MAX)) return false;
    hasToken = true;
  }
  return hasToken;
}

export function isPlainExtend(value: object): value is ExtendBody {
  let count = 0;
  for (const name in value) {
    const member = (value as Members)[name];
    if (name === "token" ? !isShortText(member, TOKEN_CHARS_MAX) : !isTtl(name, member)) return false;
    count += 1;
  }
  return count === 2;
}

function isTtl(name: string, member: unknown): boolean {
  return name === "ttl" && isWhole(member, TTL_MIN_MS, TTL_MAX_MS);
}
