/** For the user interfaces of this package alone. */

export { type ClaimShare, type ClaimStore, claimStoreOf, type SessionView, type Shown } from "./claim-store.ts";
export type { ClaimOptions } from "./claim.ts";
export { freeView, type LockView } from "./shared-watch.ts";
export { type ClaimSnapshot, type ClaimState, IDLE } from "./snapshot.ts";
