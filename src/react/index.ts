/** Locks in React components: what `latchkey/react` exports. */

"use client";

export type { ClaimOptions, ClaimSnapshot, ClaimState, LockView, SessionView } from "../claim-store/index.ts";
export { LatchkeyProvider, type LatchkeyProviderProps } from "./provider.ts";
export { useLock, type UseLock, type UseLockOptions } from "./use-lock.ts";
export { useLockState, useSession } from "./use-lock-state.ts";
