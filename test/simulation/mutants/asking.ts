import type { Mutant } from "./mutant.ts";

/** Bugs of asking for a key and of handing it over. */
export const ASKING_MUTANTS: readonly Mutant[] = [
  {
    bug: "a holder asks for what it has",
    file: "asking.ts",
    find: `claim?.state !== "waiting"`,
    replace: `claim?.latch === undefined`,
  },
  {
    bug: "an ask outlives the wait",
    file: "latch.ts",
    find: `if (claim.ask !== undefined) this.ask(claim, undefined);`,
    replace: ``,
  },
  {
    bug: "an ask that is withdrawn goes on",
    file: "asking.ts",
    find: `if (command.withdraw === true) {`,
    replace: `if (command.withdraw === true && before === undefined) {`,
  },
  {
    bug: "a repeated ask is a fresh one",
    file: "asking.ts",
    find: `before === undefined || before.message !== message`,
    replace: `before?.message !== message || message === undefined`,
  },
  {
    bug: "other words do not replace an ask",
    file: "asking.ts",
    find: `before === undefined || before.message !== message`,
    replace: `before === undefined`,
  },
  {
    bug: "an ask is not stored",
    file: "asking.ts",
    find: `  state.store(claim);\n`,
    replace: ``,
  },
  {
    bug: "watchers do not hear of an ask",
    file: "asking.ts",
    find: `  state.touch(latch.key);\n`,
    replace: ``,
  },
  {
    bug: "an ask does not come back from the store",
    file: "claim.ts",
    find: `claim.ask = record.ask;`,
    replace: ``,
  },
  {
    bug: "asks are shown in the order in which they were made",
    file: "reads.ts",
    find: `[...asking].sort((a, b) => a.ticket - b.ticket)`,
    replace: `[...asking]`,
  },
  {
    bug: "a hand-over goes to the head of the queue, whoever was named",
    file: "asking.ts",
    find: `if (claim.owner?.id === session) return claim;`,
    replace: `if (claim.owner !== undefined) return latch.queue.first;`,
  },
  {
    bug: "a hand-over goes to the session's last wait, not its first",
    file: "asking.ts",
    find: `  for (const claim of latch.queue) if (claim.owner?.id === session) return claim;\n  return undefined;`,
    replace: `  let last: Claim | undefined;\n  for (const claim of latch.queue) if (claim.owner?.id === session) last = claim;\n  return last;`,
  },
  {
    bug: "a hand-over to nobody lets the lock go",
    file: "asking.ts",
    find: `if (heir === undefined) return refuse(state, command, "not_waiting");`,
    replace: `if (heir === undefined) {
    state.end(claim, "released");
    state.promote(latch);
    return refuse(state, command, "not_waiting");
  }`,
  },
  {
    bug: "a writer is handed a key that others still read",
    file: "asking.ts",
    find: `(!isAlone && heir.mode === "exclusive")`,
    replace: `false`,
  },
  {
    bug: "a reader is not handed the place of a reader",
    file: "asking.ts",
    find: `(!isAlone && heir.mode === "exclusive")`,
    replace: `!isAlone`,
  },
  {
    bug: "a hand-over within the quarantine grants",
    file: "asking.ts",
    find: `state.isQuarantined || `,
    replace: ``,
  },
  {
    bug: "the queue is not looked at after a hand-over",
    file: "asking.ts",
    find: `  state.grantWaiting(heir);\n  state.promote(latch);`,
    replace: `  state.grantWaiting(heir);`,
  },
  {
    bug: "a hand-over only takes one off the depth",
    file: "asking.ts",
    find: `  state.end(claim, "released", byOther`,
    replace: `  if (claim.depth > 1) {
    claim.depth--;
    return tellReleased(state, command, claim.depth, false);
  }
  state.end(claim, "released", byOther`,
  },
  {
    bug: "a repeated hand-over is told to be lost",
    file: "holding.ts",
    find: `else if (isLetGo(claim)) tellReleased(state, command, 0, true);`,
    replace: `else if (isLetGo(claim) && command.kind === "release") tellReleased(state, command, 0, true);`,
  },
];
