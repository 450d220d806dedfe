/** A little application with locks, as a page runs it and a server renders it. */

import { createElement, type ReactElement, StrictMode, useEffect } from "react";
import type { Client } from "latchkey/client";
import { LatchkeyProvider, useLock, type UseLock, useLockState, useSession } from "latchkey/react";

export interface Part {
  readonly name: string;
  readonly lockKey: string;
  readonly auto?: boolean;
  readonly requeue?: boolean;
  readonly mode?: "shared";
  readonly limit?: number;
  readonly ttl?: number;
  /** Rendering it throws. */
  readonly isBroken?: boolean;
}

export interface View {
  readonly parts: readonly Part[];
  /** Looks at this key and wants nothing. */
  readonly looksAt?: string;
}

/** `onShown`: what a part shows now. */
export function application(
  client: Client | null,
  view: View,
  onShown: (name: string, lock: UseLock | undefined) => void = () => undefined,
): ReactElement {
  const parts = view.parts.map((part) => createElement(LockPart, { key: part.name, ...part, onShown }));
  const badge = view.looksAt !== undefined && createElement(Badge, { key: "badge", lockKey: view.looksAt });
  return createElement(StrictMode, null, createElement(LatchkeyProvider, { client }, ...parts, badge));
}

interface LockPartProps extends Part {
  readonly onShown: (name: string, lock: UseLock | undefined) => void;
}

function LockPart({ name, lockKey, isBroken, onShown, ...options }: LockPartProps): ReactElement {
  const lock = useLock(lockKey, { ...options, meta: { part: name } });
  if (isBroken === true) throw new Error("broken");
  useEffect(() => onShown(name, lock));
  useEffect(() => () => onShown(name, undefined), [name, onShown]);
  return createElement("p", { id: name }, lock.state);
}

function Badge({ lockKey }: { readonly lockKey: string }): ReactElement {
  const { status, waiting, holders } = useLockState(lockKey);
  const { status: connection } = useSession();
  const meta = holders[0]?.meta as { readonly part?: string } | undefined;
  return createElement("p", { id: "badge" }, `${status} ${meta?.part ?? "nobody"} ${waiting} ${connection}`);
}
