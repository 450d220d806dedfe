/** What goes between who waits and who holds: "may I?", and "here you are". */

import { refuse } from "./acquire.ts";
import type { Claim } from "./claim.ts";
import type { Ask, Hand } from "./command.ts";
import { byOther, findHeld, tellReleased } from "./holding.ts";
import type { Latch } from "./latch.ts";
import type { State } from "./state.ts";

/** The same words again change nothing, so that a repeat does not count as a fresh ask. */
export function ask(state: State, command: Ask): void {
  const { from: to, request, message } = command;
  const claim = state.findRequest(to, command.claim);
  if (claim?.state !== "waiting") return refuse(state, command, "not_waiting");
  const latch = claim.latch as Latch;
  const { ask: before } = claim;
  if (command.withdraw === true) {
    if (before !== undefined) setAsk(state, latch, claim, undefined);
  } else if (before === undefined || before.message !== message) {
    setAsk(state, latch, claim, { ...(message === undefined ? undefined : { message }), since: state.now });
  }
  state.tell({ kind: "asked", to, request });
}

function setAsk(state: State, latch: Latch, claim: Claim, record: Claim["ask"]): void {
  latch.ask(claim, record);
  state.touch(latch.key);
  state.store(claim);
}

/** A release that names who is next. Whether that can be is known before anything is changed: else the lock is kept. */
export function hand(state: State, command: Hand): void {
  const claim = findHeld(state, command);
  if (claim === undefined) return;
  const latch = claim.latch as Latch;
  const heir = firstWaiting(latch, command.to);
  if (heir === undefined) return refuse(state, command, "not_waiting");
  const isAlone = latch.holders.count === 1;
  // A shared heir of a shared holder takes its place among the others, so that no limit is passed.
  if (state.isQuarantined || (!isAlone && heir.mode === "exclusive")) {
    return refuse(state, command, "shared_holders");
  }
  state.end(claim, "released", byOther(state, claim, command.from));
  state.grantWaiting(heir);
  state.promote(latch);
  tellReleased(state, command, 0, false);
}

function firstWaiting(latch: Latch, session: string): Claim | undefined {
  for (const claim of latch.queue) if (claim.owner?.id === session) return claim;
  return undefined;
}
