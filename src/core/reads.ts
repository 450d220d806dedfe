/** Questions that change nothing. What is due has been served before, so nothing expired is ever shown. */

import type { Claim } from "./claim.ts";
import type { List, Status } from "./command.ts";
import type { Asking, Holder, KeyStatus, Place, Waiting } from "./effect.ts";
import type { Latch } from "./latch.ts";
import { ASKS_TOLD_MAX, QUEUE_TOLD_MAX } from "./limits.ts";
import type { AskRecord } from "./record.ts";
import type { State } from "./state.ts";

export function status(state: State, command: Status): void {
  const latch = state.latches.get(command.key);
  const free = { key: command.key, holders: [], waiting: 0 };
  const told: KeyStatus = latch === undefined ? free : statusOf(latch, new Set(command.of));
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
  const of = new Set(command.of);
  const page = keys.slice(0, countMax).map((key) => {
    const latch = state.latches.get(key) as Latch;
    const told = statusOf(latch, of);
    return command.queue === true ? { ...told, queue: queueOf(latch) } : told;
  });
  state.tell({
    kind: "list",
    to: command.from,
    request: command.request,
    keys: page,
    more: keys.length > countMax,
  });
}

function statusOf(latch: Latch, of: ReadonlySet<string>): KeyStatus {
  const holders: Holder[] = [];
  for (const claim of latch.holders) holders.push(holderOf(claim));
  const places = placesOf(latch, of);
  return {
    key: latch.key,
    holders,
    waiting: latch.waiting,
    ...(latch.limit === undefined ? undefined : { limit: latch.limit }),
    ...(latch.asking === undefined ? undefined : { asks: asksOf(latch.asking) }),
    ...(places.length === 0 ? undefined : { places }),
  };
}

function queueOf(latch: Latch): Waiting[] {
  const told: Waiting[] = [];
  for (const { session, mode } of latch.queue) {
    if (told.length === QUEUE_TOLD_MAX) break;
    told.push({ ...(session === undefined ? undefined : { session }), mode });
  }
  return told;
}

/** Walks the queue until it has found them all. */
function placesOf(latch: Latch, of: ReadonlySet<string>): Place[] {
  const found = new Map<string, Place>();
  let position = 0;
  for (const { session } of of.size === 0 ? [] : latch.queue) {
    position++;
    if (session === undefined || !of.has(session) || found.has(session)) continue;
    found.set(session, { session, position });
    if (found.size === of.size) break;
  }
  return [...found.values()];
}

function holderOf(claim: Claim): Holder {
  return {
    ...whoOf(claim),
    mode: claim.mode,
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
      ...whoOf(claim),
      ...(message === undefined ? undefined : { message }),
      ...metaMember(claim),
      since,
    };
  });
}

function whoOf({ owner }: Claim): Pick<Holder, "session" | "user"> | undefined {
  if (owner === undefined) return undefined;
  return owner.user === undefined ? { session: owner.id } : { session: owner.id, user: owner.user };
}

function metaMember(claim: Claim): { meta: string } | undefined {
  const meta = claim.meta ?? claim.owner?.meta;
  return meta === undefined ? undefined : { meta };
}
