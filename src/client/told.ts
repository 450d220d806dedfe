/**
 * What a server tells of keys, as the wire says it, made into what the client's interface promises. A session's client loads it when the
 * first key is looked at.
 */

import type { HolderTold, KeyTold, ListFrame, StatusFrame } from "../protocol/server-frames.ts";
import type { Holder, KeyList, KeyStatus, ListOptions } from "./locks.ts";
import type { SessionClient } from "./session-client.ts";

/** All but the holders is in the client's words already. */
export function keyStatusOf({ holders, ...told }: KeyTold): KeyStatus {
  return { ...told, holders: holders.map(holderOf) };
}

/** As a session is answered. */
export function statusOf({ t: _t, id: _id, ...told }: StatusFrame): KeyStatus {
  return keyStatusOf(told);
}

export function keyListOf({ keys, next }: { readonly keys: readonly KeyTold[]; readonly next?: string }): KeyList {
  return { keys: keys.map(keyStatusOf), ...(next !== undefined && { next }) };
}

/** As a session is answered that asked for a page. Where the space is spread a page is of all its parts. */
export async function listOf(
  client: Pick<SessionClient, "machine" | "loadParts">,
  options: ListOptions,
  told: ListFrame,
): Promise<KeyList> {
  return client.machine.spread > 1 ? (await client.loadParts()).list(options) : keyListOf(told);
}

/** HTTP says null where the session is the lease. */
function holderOf({ expires_in: expiresIn, ...holder }: HolderTold): Holder {
  return expiresIn === undefined || expiresIn === null ? holder : { ...holder, expiresIn };
}
