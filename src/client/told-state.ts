/** A watched key as the wire tells of it, made into what a watch shows. */

import type { KeyTold } from "../protocol/server-frames.ts";
import { keyStatusOf } from "./told.ts";
import type { AccessAsk, KeyState } from "./watch-types.ts";

export interface StateTold extends KeyTold {
  readonly position?: number;
  readonly asks?: readonly AccessAsk[];
}

/** Who looks. */
export interface Self {
  readonly session: string | undefined;
  readonly user: string | undefined;
}

export function keyStateOf(told: StateTold, { session, user }: Self): KeyState {
  const status = keyStatusOf(told);
  return Object.freeze({
    ...status,
    holders: status.holders.map((holder) => ({
      ...holder,
      isMe: session !== undefined && holder.session === session,
      isSameUser: user !== undefined && holder.user === user,
    })),
  });
}
