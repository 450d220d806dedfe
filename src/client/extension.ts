import type { Extension } from "./locks.ts";

/** What a server tells of an extended lease, made into what the client's interface promises. */
export function extensionOf(told: {
  readonly fence: number;
  readonly ttl: number;
  readonly expires_in: number;
}): Extension {
  return { fence: told.fence, ttl: told.ttl, expiresIn: told.expires_in };
}
