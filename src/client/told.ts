/** What a server tells, as the wire says it, made into what the client's interface promises. */

import type { HolderTold, KeyTold, StatusFrame } from "../protocol/server-frames.ts";
import type { Holder, KeyList, KeyStatus, ReleaseResult } from "./locks.ts";

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

export function releaseOf({ depth, already }: { readonly depth?: number; readonly already?: boolean }): ReleaseResult {
  return { depth: depth ?? 0, already: already === true };
}

/** HTTP says null where the session is the lease. */
function holderOf({ expires_in: expiresIn, ...holder }: HolderTold): Holder {
  return expiresIn === undefined || expiresIn === null ? holder : { ...holder, expiresIn };
}
