import { useMemo, useSyncExternalStore } from "react";
import { freeView, type LockView, type SessionView, type Shown } from "../claim-store/index.ts";
import { useClaimStore } from "./provider.ts";

const CONNECTING: SessionView = Object.freeze({ status: "connecting", session: undefined });

/** Who holds a key and how many wait, as things stand. It wants nothing. Free, and not current, until the server has told. */
export function useLockState(key: string): LockView {
  const store = useClaimStore();
  const unknown = useMemo(() => still(freeView(key)), [key]);
  const { subscribe, getSnapshot } = useMemo(() => store?.key(key) ?? unknown, [store, key, unknown]);
  return useSyncExternalStore(subscribe, getSnapshot, unknown.getSnapshot);
}

/** How the client's connection stands, and the public id of its session. */
export function useSession(): SessionView {
  const store = useClaimStore();
  const { subscribe, getSnapshot } = store?.session ?? UNCONNECTED;
  return useSyncExternalStore(subscribe, getSnapshot, UNCONNECTED.getSnapshot);
}

const UNCONNECTED = still(CONNECTING);

/** What never changes. */
function still<Snapshot>(snapshot: Snapshot): Shown<Snapshot> {
  return { subscribe: () => () => undefined, getSnapshot: () => snapshot };
}
