import type { Mutant } from "./mutant.ts";

/** Bugs of what watchers are told. */
export const WATCH_MUTANTS: readonly Mutant[] = [
  {
    bug: "watchers do not hear that a lease was extended",
    file: "holding.ts",
    find: `  state.touch(command.key);\n`,
    replace: ``,
  },
  {
    bug: "watchers do not hear that one more waits",
    file: "acquire.ts",
    find: `  state.touch(latch.key);\n`,
    replace: ``,
  },
  {
    bug: "watchers do not hear that a kept lock goes on without its session",
    file: "sessions.ts",
    find: `  state.touch(claim.key);\n`,
    replace: ``,
  },
  {
    bug: "watchers hear of keys that are looked at",
    file: "reads.ts",
    find: `  const latch = state.latches.get(command.key);\n`,
    replace: `  const latch = state.latches.get(command.key);\n  state.touch(command.key);\n`,
  },
  {
    bug: "a session's place is that of its last claim",
    file: "reads.ts",
    find: ` || found.has(session)`,
    replace: ``,
  },
];
