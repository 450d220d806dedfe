/** What the HTTP calls have in common: who asks, which space, and what an answer may grant. */

import type { Context, Hono } from "hono";
import { failed } from "./answers.ts";
import type { Credential } from "./auth.ts";
import type { HostParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { CALLER_MARK, type Switchboard } from "./switchboard.ts";

export interface CallVariables {
  Variables: { credential: Credential; space: string };
  /** Who calls, where that is known without a key: it comes from within the program. */
  Bindings: { credential?: Credential };
}
export type CallApp = Hono<CallVariables>;
export type Call = Context<CallVariables>;

/** A grant, or the start of an attempt, that an answer tells of. */
export interface GrantTold {
  readonly space: string;
  readonly from: string;
  readonly request: string;
  readonly hasWaited: boolean;
}

export interface Grants {
  /** What the answer to this request grants. */
  note(request: Request, grant: GrantTold): void;
  /** The answer cannot be sent. */
  takeBack(grant: GrantTold): void;
}

/** The board is asked for at the moment of use: one that nobody listens to may have been unloaded meanwhile. */
export async function onBoard<T>(
  call: Call,
  parts: HostParts,
  ask: (board: Switchboard) => Promise<T>,
): Promise<T | Response> {
  if (parts.isDraining()) return failed({ kind: "draining" });
  const board = parts.board(call.var.space);
  return board === undefined ? problem("limit", "too many spaces are in use", { limit: "spaces" }) : ask(board);
}

/** Notes what the answer grants. False: whoever waited for it is gone, and it was taken back. */
export async function isStillThere(
  call: Call,
  parts: HostParts,
  grants: Grants,
  granted: Omit<GrantTold, "space">,
): Promise<boolean> {
  const grant = { space: call.var.space, ...granted };
  // Where calls outlive their callers no signal tells of a hang-up, and no timer may run: there grants are confirmed.
  if (granted.hasWaited && parts.hibernation === undefined && (await hasHungUp(call.req.raw.signal))) {
    grants.takeBack(grant);
    return false;
  }
  grants.note(call.req.raw, grant);
  return true;
}

/**
 * What let the key go and what tells of the hang-up may have arrived together, and been read in the other order. So whoever
 * has waited is looked at once more after the runtime has read everything that was there.
 */
async function hasHungUp(signal: AbortSignal): Promise<boolean> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve);
  });
  return signal.aborted;
}

export function asking(call: Call, parts: HostParts): { from: string; request: string } {
  return { from: scopeOf(call), request: `ask:${parts.mint.token()}` };
}

/** Request ids of callers are unique within their credential. */
export function scopeOf(call: Call): string {
  return CALLER_MARK + call.var.credential.name;
}

export function forbidden(permission: string): Response {
  return problem("forbidden", `this API key has not the permission to ${permission}`);
}
