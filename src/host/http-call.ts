/** What the HTTP calls have in common: who asks, which space, and what an answer may grant. */

import type { Hono } from "hono";
import { failed } from "./answers.ts";
import type { Asked } from "./asked.ts";
import type { Credential } from "./auth.ts";
import type { Answer } from "./calls.ts";
import type { Call } from "./gate.ts";
import type { HostParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { CALLER_MARK, type Switchboard } from "./switchboard.ts";
import { turnsOver } from "./turns.ts";

export interface CallVariables {
  Variables: { call: Call };
  /** Who calls, where that is known without a key: it comes from within the program. */
  Bindings: { credential?: Credential };
}
export type Router = Hono<CallVariables>;

/** A grant, or the start of an attempt, that an answer tells of. */
export interface GrantTold {
  readonly space: string;
  readonly from: string;
  readonly request: string;
  readonly hasWaited: boolean;
}

export interface Grants {
  /** What the answer to this request grants. */
  note(request: Asked, grant: GrantTold): void;
  /** The answer cannot be sent. */
  takeBack(grant: GrantTold): void;
}

/** The board is asked for at the moment of use: one that nobody listens to may have been unloaded meanwhile. */
export function onBoard<T>(
  call: Call,
  parts: HostParts,
  ask: (board: Switchboard) => Promise<T>,
): Promise<T> | Response {
  if (parts.isDraining()) return failed({ kind: "draining" });
  const board = parts.board(call.space);
  return board === undefined ? problem("limit", "too many spaces are in use", { limit: "spaces" }) : ask(board);
}

/** Whether it is known before anything is asked that nobody waits for the answer. No promise where it is known at once. */
export function isGone({ request }: Call, parts: HostParts): boolean | Promise<boolean> {
  return parts.looks.lookAt(request) ?? (!parts.hasDearSignals && request.signal.aborted);
}

/**
 * False: the caller for whom it is granted is gone, and it was taken back. No promise where that is known at once. Of callers who did not wait
 * only those are looked at once more who were looked at before: what was hung up on while the store was at work is read by now.
 */
export function isStillThere(
  { request, space }: Call,
  turnsToKnow: number,
  granted: Omit<GrantTold, "space">,
  grants: Grants,
  isLookedAt: boolean,
): boolean | Promise<boolean> {
  if (!isLookedAt && !granted.hasWaited) return true;
  const { signal } = request;
  const isThere = (): boolean => {
    if (signal.aborted) grants.takeBack({ space, ...granted });
    return !signal.aborted;
  };
  return turnsToKnow === 0 ? isThere() : turnsOver(turnsToKnow, () => signal.aborted).then(isThere);
}

export function asking(call: Call, parts: HostParts): { from: string; request: string } {
  return { from: scopeOf(call), request: `ask:${parts.requests.next()}` };
}

/** Request ids of callers are unique within their credential. */
export function scopeOf(call: Call): string {
  return CALLER_MARK + call.credential.name;
}

export function forbidden(permission: string): Response {
  return problem("forbidden", `this API key has not the permission to ${permission}`);
}

export function askStatus(call: Call, parts: HostParts, key: string): Promise<Answer> | Response {
  const command = { kind: "status", ...asking(call, parts), key: parts.keys.inward(key) } as const;
  return onBoard(call, parts, (board) => board.calls.ask(command));
}
