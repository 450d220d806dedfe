/** A watched key as the wire tells of it, made into what a watch shows. */

import type { KeyState as StateTold } from "../protocol/watch-told.ts";
import { keyStatusOf } from "./told.ts";
import type { KeyState } from "./watch-types.ts";

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
