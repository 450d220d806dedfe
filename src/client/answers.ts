/** What a server answers about a lock, made into what the client's interface promises. */

import type { Extension, ReleaseResult } from "./locks.ts";

export function extensionOf(told: {
  readonly fence: number;
  readonly ttl: number;
  readonly expires_in: number;
}): Extension {
  return { fence: told.fence, ttl: told.ttl, expiresIn: told.expires_in };
}

export function releaseOf({ depth, already }: { readonly depth?: number; readonly already?: boolean }): ReleaseResult {
  return { depth: depth ?? 0, already: already === true };
}
