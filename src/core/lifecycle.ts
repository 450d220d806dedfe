/**
 * The life of a claim as one table. The engine moves claims only through `next`, and the diagram in
 * PROTOCOL.md is drawn from the same table by `drawLifecycle`, so the two cannot disagree.
 */

export type ClaimState = "waiting" | "holding" | "gone";

/** Why a claim is gone. The first six can end a holding; `timed_out` only a wait. */
export type Outcome = "released" | "expired" | "stolen" | "dropped" | "revoked" | "cancelled" | "timed_out";

/** What can happen to a claim. Those that end it carry the name of the outcome. */
export type ClaimEvent = "grant" | "reenter" | "extend" | "unnest" | Outcome;

export const LIFECYCLE: Readonly<Record<ClaimState, Readonly<Partial<Record<ClaimEvent, ClaimState>>>>> = {
  waiting: {
    grant: "holding",
    timed_out: "gone",
    cancelled: "gone",
    dropped: "gone",
    revoked: "gone",
  },
  holding: {
    reenter: "holding",
    extend: "holding",
    unnest: "holding",
    released: "gone",
    expired: "gone",
    stolen: "gone",
    dropped: "gone",
    revoked: "gone",
    cancelled: "gone",
  },
  gone: {},
};

/** The state after `event`. Throws when the table has no such move: that is a bug of the engine. */
export function next(state: ClaimState, event: ClaimEvent): ClaimState {
  const after = LIFECYCLE[state][event];
  if (after === undefined) throw new Error(`a ${state} claim cannot be moved by ${event}`);
  return after;
}

/** The table as a Mermaid state diagram: one line per pair of states, its events joined. */
export function drawLifecycle(): string {
  const lines = ["stateDiagram-v2", "  [*] --> waiting: acquire"];
  for (const [from, moves] of Object.entries(LIFECYCLE)) {
    const byTarget = new Map<string, string[]>();
    for (const [event, to] of Object.entries(moves)) {
      byTarget.set(to, [...(byTarget.get(to) ?? []), event]);
    }
    for (const [to, events] of byTarget) lines.push(`  ${from} --> ${to}: ${events.join(", ")}`);
  }
  lines.push("  gone --> [*]");
  return lines.join("\n");
}
