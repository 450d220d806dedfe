/** A guard of what a lock protects: whoever comes with a fence lower than one that was here before held the lock earlier, and is late. */

import type { Context, MiddlewareHandler } from "hono";
import { problem } from "./problems.ts";

/** Where the highest fences are kept. */
export interface FenceStore {
  /**
   * Raises the highest fence seen for `key` to `fence`, unless it is higher already: false, then. In one step, so that of two
   * requests at once the lower fence cannot win. When it throws or rejects, the request is refused with 503.
   */
  raise(key: string, fence: number): boolean | Promise<boolean>;
}

export interface FencedOptions {
  /** What the lock protects, and whose fences are compared with each other: usually the key of the lock. */
  readonly key: (c: Context) => string;
  /** Default: `memoryFences()`. */
  readonly store?: FenceStore | undefined;
  /** Default true. False: a request without the header is let through. */
  readonly required?: boolean | undefined;
}

const HEADER = "Latchkey-Fence";
const KEYS_MAX = 100_000;

/**
 * Refuses a request whose `Latchkey-Fence` is lower than the highest one seen for its key: 412 `stale_fence`. The fence counts from
 * the moment it is seen, whatever becomes of the request.
 */
export function fenced({ key, store = memoryFences(), required = true }: FencedOptions): MiddlewareHandler {
  return async (c, next) => {
    const header = c.req.header(HEADER);
    if (header === undefined) {
      return required ? problem("fence_missing", `the header ${HEADER} must be sent`) : next();
    }
    const fence = readFence(header);
    if (fence === undefined) return problem("fence_malformed", `${HEADER} must be a whole number, as the lock told it`);
    const guarded = key(c);
    let isCurrent: boolean;
    try {
      isCurrent = await store.raise(guarded, fence);
    } catch {
      return problem("fence_unavailable", "the fences cannot be compared now");
    }
    return isCurrent ? next() : problem("stale_fence", "a higher fence was seen before");
  };
}

/**
 * Fences of this process, for as long as it lives: with several processes, or over a restart, keep them beside the data instead. A key is
 * never forgotten, since its next fence could then be a stale one: above `keysMax` keys (default 100 000) new ones are refused.
 */
export function memoryFences({ keysMax = KEYS_MAX }: { readonly keysMax?: number } = {}): FenceStore {
  const highest = new Map<string, number>();
  return {
    raise(key, fence) {
      const seen = highest.get(key);
      if (seen === undefined && highest.size >= keysMax) throw new RangeError(`there are fences of ${keysMax} keys`);
      if (seen !== undefined && fence < seen) return false;
      highest.set(key, fence);
      return true;
    },
  };
}

function readFence(header: string): number | undefined {
  const fence = /^\d{1,16}$/.test(header.trim()) ? Number(header) : Number.NaN;
  return Number.isSafeInteger(fence) ? fence : undefined;
}
