/** Questions that change nothing. What is due has been served before, so nothing expired is ever shown. */

import type { Claim } from "./claim.ts";
import type { List, Status } from "./command.ts";
import type { Asking, Holder, KeyStatus } from "./effect.ts";
import type { Latch } from "./latch.ts";
import { ASKS_TOLD_MAX } from "./limits.ts";
import type { AskRecord } from "./record.ts";
import type { State } from "./state.ts";

export function status(state: State, command: Status): void {
  const latch = state.latches.get(command.key);
  const told: KeyStatus = latch === undefined ? { key: command.key, holders: [], waiting: 0 } : statusOf(latch);
  state.tell({ kind: "status", to: command.from, request: command.request, ...told });
}

/** Sorts the matching keys, O(n log n): a listing is an operator's question, not a program's loop. */
export function list(state: State, command: List): void {
  const { prefix, after, countMax } = command;
  const keys: string[] = [];
  for (const key of state.latches.keys()) {
    if (key.startsWith(prefix) && (after === undefined || key > after)) keys.push(key);
  }
  keys.sort();
  const page = keys.slice(0, countMax).map((key) => statusOf(state.latches.get(key) as Latch));
  state.tell({
    kind: "list",
    to: command.from,
    request: command.request,
    keys: page,
    more: keys.length > countMax,
  });
}

function statusOf(latch: Latch): KeyStatus {
  const holders: Holder[] = [];
  for (const claim of latch.holders) holders.push(holderOf(claim));
  const asks = latch.asking === undefined ? undefined : { asks: asksOf(latch.asking) };
  const told = { key: latch.key, holders, waiting: latch.queue.count, ...asks };
  return latch.limit === undefined ? told : { ...told, limit: latch.limit };
}

function holderOf(claim: Claim): Holder {
  return {
    ...sessionMember(claim),
    mode: claim.asked.mode,
    fence: claim.fence,
    since: claim.grantedAt,
    ...(claim.slot === -1 ? undefined : { expiresAt: claim.deadline }),
    ...metaMember(claim),
  };
}

/** A queue is in the order of its tickets. */
function asksOf(asking: ReadonlySet<Claim>): Asking[] {
  const claims = [...asking].sort((a, b) => a.ticket - b.ticket);
  return claims.slice(0, ASKS_TOLD_MAX).map((claim) => {
    const { message, since } = claim.ask as AskRecord;
    return {
      ...sessionMember(claim),
      ...(message === undefined ? undefined : { message }),
      ...metaMember(claim),
      since,
    };
  });
}

function sessionMember({ owner }: Claim): { session: string } | undefined {
  return owner === undefined ? undefined : { session: owner.id };
}

function metaMember({ asked, owner }: Claim): { meta: string } | undefined {
  const meta = asked.meta ?? owner?.meta;
  return meta === undefined ? undefined : { meta };
}
