import { useEffect, useMemo, useSyncExternalStore } from "react";
import { type Mode, UnavailableError } from "../client/index.ts";
import { type ClaimOptions, type ClaimShare, type ClaimSnapshot, IDLE } from "../claim-store/index.ts";
import { useClaimStore } from "./provider.ts";

export interface UseLockOptions extends ClaimOptions {
  /** Want the lock for as long as the component is there. Default false: `acquire` asks for it. */
  readonly auto?: boolean | undefined;
  /** Default `exclusive`. */
  readonly mode?: Mode | undefined;
  /** `shared` only: at most this many holders together. */
  readonly limit?: number | undefined;
}

/** A lock as it stands, and what can be done. The functions are the same for as long as key, mode and limit are. */
export interface UseLock extends ClaimSnapshot {
  /** Queues for the lock. Nothing happens if it is held or waited for. */
  readonly acquire: () => void;
  /** Lets go now, for all components that share the claim. */
  readonly release: () => Promise<void>;
  /** Takes the lock from whoever holds it, who is told the reason. Needs the permission. */
  readonly steal: (reason: string) => Promise<void>;
  /** Asks whoever holds the lock for it; queues first, if need be. */
  readonly requestAccess: (message?: string, options?: { readonly withdraw?: boolean }) => Promise<void>;
  /** Gives the lock to a session that waits for it: see `asks`. */
  readonly handTo: (session: string) => Promise<void>;
}

/**
 * A lock for a component. Components with the same key, mode and limit share one claim: it is let go when the last one that wanted it is
 * gone, a turn later, so that a component that is put back at once keeps the lock or its place in the queue. Another key leaves
 * the old queue. A rejection of one of the functions that nobody looks at is not an unhandled one.
 */
export function useLock(key: string, options: UseLockOptions = {}): UseLock {
  const { auto = false, mode, limit, ttl, meta, requeue } = options;
  const store = useClaimStore();
  const share = useMemo(() => store?.share({ key, mode, limit }) ?? absent(), [store, key, mode, limit]);
  // Before the effect that acquires.
  useEffect(() => {
    share.options = { ttl, meta, requeue };
  });
  const snapshot = useSyncExternalStore(share.subscribe, share.getSnapshot, idle);
  useEffect(() => {
    if (auto) share.acquire();
    return () => share.leave();
  }, [share, auto]);
  return useMemo(() => {
    const { acquire, release, steal, requestAccess, handTo } = share;
    return { ...snapshot, acquire, release, steal, requestAccess, handTo };
  }, [share, snapshot]);
}

function idle(): ClaimSnapshot {
  return IDLE;
}

/** Of a provider without a client. */
function absent(): ClaimShare {
  const reject = (): Promise<never> => {
    const refusal = Promise.reject(new UnavailableError("no_client", "the LatchkeyProvider has no client"));
    refusal.catch(() => undefined);
    return refusal;
  };
  return {
    options: {},
    subscribe: () => () => undefined,
    getSnapshot: idle,
    acquire: () => undefined,
    leave: () => undefined,
    release: () => Promise.resolve(),
    steal: reject,
    requestAccess: reject,
    handTo: reject,
  };
}
