import type { Mutant } from "./mutant.ts";

/** Bugs of tokens, fences, depth and repeated requests. */
export const OWNERSHIP_MUTANTS: readonly Mutant[] = [
  {
    bug: "a stale token releases the next holder",
    file: "holding.ts",
    find: `  else if (isLetGo(claim)) tellReleased(state, command, 0, true);`,
    replace: `  else if (isLetGo(claim)) {
    const heir = state.latches.get(command.key)?.holders.first;
    if (heir !== undefined) {
      const latch = heir.latch as Latch;
      state.end(heir, "released");
      state.promote(latch);
    }
    tellReleased(state, command, 0, true);
  }`,
  },
  {
    bug: "a token opens other keys than its own",
    file: "holding.ts",
    find: `return claim?.key === command.key ? claim : undefined;`,
    replace: `return claim;`,
  },
  {
    bug: "re-entry with the token of another key",
    file: "acquire.ts",
    find: `claim === undefined || claim.key !== command.key`,
    replace: `claim === undefined`,
  },
  {
    bug: "a token that no longer holds turns into a fresh claim",
    file: "acquire.ts",
    find: `if (command.token !== undefined) return reenter(state, command, command.token);`,
    replace: `if (command.token !== undefined && state.tokens.get(command.token)?.state !== "gone") return reenter(state, command, command.token);`,
  },
  {
    bug: "an expired lock is told to be released already",
    file: "holding.ts",
    find: `outcome === "released" || outcome === "cancelled"`,
    replace: `outcome !== "stolen"`,
  },
  {
    bug: "re-entry changes the fence",
    file: "state.ts",
    find: `      fence: claim.fence,\n      ticket`,
    replace: `      fence: reentrant ? this.nextSerial() : claim.fence,\n      ticket`,
  },
  {
    bug: "fences count per process",
    file: "engine.ts",
    find: `options.serial ?? 0,`,
    replace: `0,`,
  },
  {
    bug: "a repeated nest counts twice",
    file: "acquire.ts",
    find: `if (before !== undefined) return state.tellGranted(claim, command, true, before.depth);`,
    replace: ``,
  },
  {
    bug: "a nest of another session under the same request id does not count",
    file: "acquire.ts",
    find: `nest.request === command.request && nest.from === command.from`,
    replace: `nest.request === command.request`,
  },
  {
    bug: "nests are remembered without end",
    file: "acquire.ts",
    find: `if (claim.nested.length > NEST_MEMORY_MAX) claim.nested.shift();`,
    replace: ``,
  },
  {
    bug: "a repeated release counts twice",
    file: "holding.ts",
    find: `before !== undefined && before.request === command.request`,
    replace: `before !== undefined && before.request === ""`,
  },
  {
    bug: "one release frees a nested lock",
    file: "holding.ts",
    find: `if (claim.depth > 1) {`,
    replace: `if (claim.depth > 2) {`,
  },
  {
    bug: "the depth has no limit",
    file: "acquire.ts",
    find: `if (claim.depth >= state.limits.depthMax) return refuse(state, command, "depth_limit");`,
    replace: ``,
  },
  {
    bug: "a duplicate of a waiting request makes a second claim",
    file: "acquire.ts",
    find: `if (known !== undefined`,
    replace: `if (known !== undefined && known.state !== "waiting"`,
  },
  {
    bug: "a duplicate of an ended request makes a second claim",
    file: "acquire.ts",
    find: `if (known !== undefined`,
    replace: `if (known !== undefined && known.state !== "gone"`,
  },
  {
    bug: "a repeated request may ask for another key",
    file: "acquire.ts",
    find: `    a.key === b.key &&\n`,
    replace: ``,
  },
  {
    bug: "a repeated request is told apart by the token minted for its answer",
    file: "acquire.ts",
    find: `    a.session === b.session\n`,
    replace: `    a.session === b.session &&\n    a.newToken === b.newToken\n`,
  },
  {
    bug: "a repeated request is told apart by a lease that was extended since",
    file: "claim.ts",
    find: `const ttlMs = rare === undefined ? this.#ttlMs : rare.ttlAskedMs;`,
    replace: `const ttlMs = this.#ttlMs;`,
  },
  {
    bug: "the request of a caller who hung up is not forgotten",
    file: "holding.ts",
    find: `if (command.forget === true) claim.abandon();`,
    replace: ``,
  },
  {
    bug: "who stole a lock is not told",
    file: "acquire.ts",
    find: `state.end(holder, "stolen", by);`,
    replace: `state.end(holder, "stolen");`,
  },
  {
    bug: "more ended claims are remembered than allowed",
    file: "state.ts",
    find: `this.remembered.count > this.limits.endedMax`,
    replace: `this.remembered.count > this.limits.endedMax + 1`,
  },
];
