/** What can be done with a claim by who holds its token, by who asked for it, and by an operator. */

import { refuse, tellLost, whoDid } from "./acquire.ts";
import type { Claim } from "./claim.ts";
import type { Cancel, Extend, Hand, Release, RevokeKey } from "./command.ts";
import type { By } from "./effect.ts";
import type { Latch } from "./latch.ts";
import type { State } from "./state.ts";

export function extend(state: State, command: Extend): void {
  const claim = findToken(state, command);
  if (claim === undefined) return refuse(state, command, "unknown_token");
  if (claim.state === "gone") return tellLost(state, command, claim);
  claim.move("extend");
  claim.ttlMs = command.ttlMs;
  state.deadlines.set(claim, state.now + command.ttlMs);
  state.store(claim);
  state.touch(command.key);
  state.tell({
    kind: "extended",
    to: command.from,
    request: command.request,
    key: command.key,
    token: command.token,
    fence: claim.fence,
    ttlMs: command.ttlMs,
    expiresAt: claim.deadline,
  });
}

export function release(state: State, command: Release): void {
  const claim = findHeld(state, command);
  if (claim === undefined) return;
  const before = claim.unnested;
  if (before !== undefined && before.request === command.request && before.from === command.from) {
    return tellReleased(state, command, before.depth, true);
  }
  if (claim.depth > 1) {
    claim.move("unnest");
    claim.depth--;
    claim.unnested = { from: command.from, request: command.request, depth: claim.depth };
    state.store(claim);
    return tellReleased(state, command, claim.depth, false);
  }
  const latch = claim.latch as Latch;
  state.end(claim, "released", byOther(state, claim, command.from));
  // The next holder is told first: it waits for the key, who let go only for a word.
  state.promote(latch);
  tellReleased(state, command, 0, false);
}

/** A cancel that crossed the grant releases: whoever cancelled does not want the key any more. */
export function cancel(state: State, command: Cancel): void {
  const claim = state.findRequest(command.from, command.request);
  if (claim === undefined || claim.state === "gone") return;
  const latch = claim.latch as Latch;
  if (command.forget === true) claim.abandon();
  state.end(claim, "cancelled");
  state.promote(latch);
}

export function revokeKey(state: State, command: RevokeKey): void {
  const latch = state.latches.get(command.key);
  const by = whoDid(state, command.from, undefined, command.message);
  let count = 0;
  for (let holder = latch?.holders.first; holder !== undefined; holder = latch?.holders.first) {
    state.end(holder, "revoked", by);
    count++;
  }
  state.tell({ kind: "revoked", to: command.from, request: command.request, count });
  if (latch !== undefined) state.promote(latch);
}

/** Of a claim that is gone: whether its owner let it go. */
function isLetGo({ outcome }: Claim): boolean {
  return outcome === "released" || outcome === "cancelled";
}

/** The holder that is to let go; undefined: the command is answered. To let go once more is no loss. */
export function findHeld(state: State, command: Release | Hand): Claim | undefined {
  const claim = findToken(state, command);
  if (claim === undefined) refuse(state, command, "unknown_token");
  else if (claim.state !== "gone") return claim;
  else if (isLetGo(claim)) tellReleased(state, command, 0, true);
  else tellLost(state, command, claim);
  return undefined;
}

/** The claim of a token, provided that the key is its own: a token of another key is as good as none. */
function findToken(state: State, command: Extend | Release | Hand): Claim | undefined {
  const claim = state.tokens.get(command.token);
  return claim?.key === command.key ? claim : undefined;
}

export function byOther(state: State, claim: Claim, from: string): By | undefined {
  return from === claim.from ? undefined : whoDid(state, from);
}

export function tellReleased(state: State, command: Release | Hand, depth: number, already: boolean): void {
  const { from: to, request, key } = command;
  state.tell({ kind: "released", to, request, key, depth, already });
}
