/** How a field stands for one person. */

import type { AccessAsk, KeyState } from "latchkey/client";
import type { Claim } from "./claim.ts";
import type { Desk } from "./desk.ts";
import { type Person, personOf } from "./people.ts";

export type Stage = "free" | "mine" | "waiting" | "theirs";

export interface Look {
  readonly stage: Stage;
  /** Who is in the field. */
  readonly holder: Person | undefined;
  /** The holder is this person, in another window. */
  readonly isElsewhere: boolean;
  readonly state: KeyState | undefined;
  /** How the document reads. */
  readonly text: string;
  /** Who asks, save those who were told "not now". */
  readonly asks: readonly AccessAsk[];
}

export function lookOf(desk: Desk, claim: Claim): Look {
  const state = desk.stateOf(claim);
  const other = state?.holders.find(({ isMe }) => !isMe);
  const text = desk.texts.get(claim.field.name) ?? "";
  if (claim.isHeld) {
    const asks = state?.asks?.filter((ask) => !claim.declined.has(askId(ask))) ?? [];
    return { stage: "mine", holder: desk.person, isElsewhere: false, state, text, asks };
  }
  if (other === undefined) return { stage: "free", holder: undefined, isElsewhere: false, state, text, asks: [] };
  const stage = claim.isWaiting ? "waiting" : "theirs";
  return { stage, holder: personOf(other.user), isElsewhere: other.isSameUser, state, text, asks: [] };
}

/** Whoever asks anew, or in other words, is heard again. */
export function askId({ session, since, message }: AccessAsk): string {
  return JSON.stringify([session, since, message]);
}
