/** Questions that change nothing. What is due has been served before, so nothing expired is ever shown. */

import type { Claim } from "./claim.ts";
import type { List, Status } from "./command.ts";
import type { Holder, KeyStatus } from "./effect.ts";
import type { Latch } from "./latch.ts";
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
  const told = { key: latch.key, holders, waiting: latch.queue.count };
  return latch.limit === undefined ? told : { ...told, limit: latch.limit };
}

function holderOf(claim: Claim): Holder {
  const { owner, fence } = claim;
  const meta = claim.asked.meta ?? owner?.meta;
  return {
    ...(owner === undefined ? undefined : { session: owner.id }),
    mode: claim.asked.mode,
    fence,
    since: claim.grantedAt,
    ...(claim.slot === -1 ? undefined : { expiresAt: claim.deadline }),
    ...(meta === undefined ? undefined : { meta }),
  };
}
