import type { Mutant } from "./mutant.ts";

/** Bugs of order, of wake-ups, of modes and of limits. */
export const QUEUE_MUTANTS: readonly Mutant[] = [
  {
    bug: "a reader overtakes a queued writer",
    file: "acquire.ts",
    find: `return latch.waiting === 0 && latch.admits(command.mode);`,
    replace: `return (latch.waiting === 0 || command.mode === "shared") && latch.admits(command.mode);`,
  },
  {
    bug: "a try barges past the waiters",
    file: "acquire.ts",
    find: `return latch.waiting === 0 && latch.admits(command.mode);`,
    replace: `return (latch.waiting === 0 || command.timeoutMs === 0) && latch.admits(command.mode);`,
  },
  {
    bug: "a timed-out waiter stays in the queue",
    file: "state.ts",
    find: `else latch.dequeue(claim);`,
    replace: `else if (outcome !== "timed_out") latch.dequeue(claim);`,
  },
  {
    bug: "the queue is not looked at again after a cancel",
    file: "holding.ts",
    find: `  state.end(claim, "cancelled");\n  state.promote(latch);`,
    replace: `  state.end(claim, "cancelled");`,
  },
  {
    bug: "a release wakes nobody",
    file: "holding.ts",
    find: `  state.promote(latch);\n  tellReleased(state, command, 0, false);`,
    replace: `  tellReleased(state, command, 0, false);`,
  },
  {
    bug: "a revoked key wakes nobody",
    file: "holding.ts",
    find: `  if (latch !== undefined) state.promote(latch);`,
    replace: ``,
  },
  {
    bug: "only one reader of a run is granted",
    file: "state.ts",
    find: `        this.grantWaiting(head);\n      } else break;`,
    replace: `        this.grantWaiting(head);\n        break;\n      } else break;`,
  },
  {
    bug: "a writer joins the readers",
    file: "latch.ts",
    find: `if (mode === "exclusive" || holder.mode === "exclusive") return false;`,
    replace: `if (holder.mode === "exclusive") return false;`,
  },
  {
    bug: "a reader joins the writer",
    file: "latch.ts",
    find: `if (mode === "exclusive" || holder.mode === "exclusive") return false;`,
    replace: `if (mode === "exclusive") return false;`,
  },
  {
    bug: "a semaphore lets in one too many",
    file: "latch.ts",
    find: `this.holders.count < this.limit`,
    replace: `this.holders.count <= this.limit`,
  },
  {
    bug: "claims that disagree about the limit meet on one key",
    file: "acquire.ts",
    find: `live !== undefined && live.limit !== command.limit`,
    replace: `live !== undefined && live.limit !== undefined && command.limit === undefined`,
  },
  {
    bug: "a steal takes the key from one of its holders only",
    file: "acquire.ts",
    find: `for (let holder = latch.holders.first; holder !== undefined; holder = latch.holders.first) {\n    state.end(holder, "stolen", by);`,
    replace: `const holder = latch.holders.first;\n  if (holder !== undefined) {\n    state.end(holder, "stolen", by);`,
  },
  {
    bug: "a steal waits its turn like any other claim",
    file: "acquire.ts",
    find: `if (command.steal === true) return true;`,
    replace: ``,
  },
  {
    bug: "a full queue takes one more",
    file: "acquire.ts",
    find: `latch.waiting >= state.limits.waitersPerKeyMax`,
    replace: `latch.waiting > state.limits.waitersPerKeyMax`,
  },
  {
    bug: "a try is refused because the queue is full",
    file: "acquire.ts",
    find: `if (!isGranted && !isTry && latch`,
    replace: `if (!isGranted && latch`,
  },
  {
    bug: "a key that nobody wants any more counts against the limit of keys",
    file: "state.ts",
    find: `if (latch.isFree && this.latches.get(latch.key) === latch) this.latches.delete(latch.key);`,
    replace: ``,
  },
  {
    bug: "claims that ended count against their session's limit",
    file: "state.ts",
    find: `    this.countLive(claim, -1);\n    const ended`,
    replace: `    if (held) this.countLive(claim, -1);\n    const ended`,
  },
  {
    bug: "a listing is sorted by language, not by code units",
    file: "reads.ts",
    find: `keys.sort();`,
    replace: `keys.sort((a, b) => a.localeCompare(b));`,
  },
  {
    bug: "a listing starts with the key that it should follow",
    file: "reads.ts",
    find: `key > after`,
    replace: `key >= after`,
  },
];
