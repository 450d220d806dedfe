/** From an image back to the tables of a space. */

import { Claim } from "./claim.ts";
import { Latch } from "./latch.ts";
import type { ClaimRecord, Image } from "./record.ts";
import { Session } from "./session.ts";
import type { State } from "./state.ts";

export function rebuild(state: State, image: Image): void {
  for (const record of image.sessions) {
    const { id, order, deadline } = record;
    const session = new Session(record);
    state.sessions.set(id, session);
    state.deadlines.set(session, deadline);
    state.serial = Math.max(state.serial, order);
  }
  const claims = image.claims.map((record) => claimOf(state, record));
  claims.sort((a, b) => a.ticket - b.ticket);
  for (const claim of claims) enter(state, claim);
  // Holders stand in the order of their grants, which is not that of their tickets after a steal.
  claims.sort((a, b) => a.fence - b.fence);
  for (const claim of claims) {
    if (claim.state === "holding") (claim.latch as Latch).holders.add(claim);
  }
}

function claimOf(state: State, record: ClaimRecord): Claim {
  const owner = record.session === undefined ? undefined : state.sessions.get(record.session);
  return Claim.from(record, owner);
}

function enter(state: State, claim: Claim): void {
  state.serial = Math.max(state.serial, claim.ticket, claim.fence);
  if (claim.wasGranted) state.tokens.set(claim.token, claim);
  const isFindable = claim.owner !== undefined || !claim.isOfSession;
  if (isFindable && !claim.abandoned) state.enterRequest(claim);
  if (claim.state === "gone") {
    state.remembered.restore(claim);
    return;
  }
  claim.latch = latchOf(state, claim);
  if (claim.state === "waiting") claim.latch.enqueue(claim);
  state.countLive(claim, 1);
  state.deadlines.set(claim, claim.deadline);
}

function latchOf(state: State, claim: Claim): Latch {
  const { key, limit } = claim;
  let latch = state.latches.get(key);
  if (latch === undefined) {
    latch = new Latch(key, limit);
    state.latches.set(key, latch);
  }
  return latch;
}
