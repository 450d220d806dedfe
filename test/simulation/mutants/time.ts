import type { Mutant } from "./mutant.ts";

/** Bugs of leases, waits and clocks. */
export const TIME_MUTANTS: readonly Mutant[] = [
  {
    bug: "a late timer grants a key to a waiter who has given up",
    file: "state.ts",
    find: `if (head.deadline < this.now) this.end(head, "timed_out");\n      else if (head.owner`,
    replace: `if (head.owner`,
  },
  {
    bug: "a late timer grants a key to a session whose grace is over",
    file: "state.ts",
    find: `head.owner !== undefined && head.owner.deadline < this.now`,
    replace: `head.owner !== undefined && head.owner.deadline < 0`,
  },
  {
    bug: "a waiter whose wait ends in this instant is turned away though the key is free",
    file: "state.ts",
    find: `if (head.deadline < this.now)`,
    replace: `if (head.deadline <= this.now)`,
  },
  {
    bug: "an expiry wakes nobody",
    file: "engine.ts",
    find: `"timed_out" : "expired");\n      state.promote(latch);`,
    replace: `"timed_out" : "expired");`,
  },
  {
    bug: "a timed-out writer leaves, and the readers behind it sleep on",
    file: "engine.ts",
    find: `"timed_out" : "expired");\n      state.promote(latch);`,
    replace: `"timed_out" : "expired");\n      if (due.wasGranted) state.promote(latch);`,
  },
  {
    bug: "an expired holder acts before the reaper comes: its lease is extended again",
    file: "engine.ts",
    find: `    serveDue(state);\n    serve(state, command);`,
    replace: `    serve(state, command);\n    serveDue(state);`,
  },
  {
    bug: "a deadline is served a tick late",
    file: "engine.ts",
    find: `due === undefined || at > state.now`,
    replace: `due === undefined || at >= state.now`,
  },
  {
    bug: "of two equal deadlines the later arrival is served first",
    file: "deadlines.ts",
    find: `a.order < b.order`,
    replace: `a.order > b.order`,
  },
  {
    bug: "the reaper sleeps on the wrong entry after a lease was extended",
    file: "deadlines.ts",
    find: `if (!this.#rise(item)) this.#sink(item);`,
    replace: `this.#rise(item);`,
  },
  {
    bug: "the reaper sleeps past an earlier deadline that arrives",
    file: "deadlines.ts",
    find: `if (!this.#rise(item)) this.#sink(item);`,
    replace: `this.#sink(item);`,
  },
  {
    bug: "a deadline that leaves from the middle of the heap disorders it",
    file: "deadlines.ts",
    find: `    last.slot = slot;\n    this.#settle(last);`,
    replace: `    last.slot = slot;`,
  },
  {
    bug: "the clock runs backwards, and leases live longer",
    file: "state.ts",
    find: `if (now > this.now) this.now = now;`,
    replace: `this.now = now;`,
  },
  {
    bug: "re-entry with a short ttl shortens the lease",
    file: "acquire.ts",
    find: ` && state.now + ttlMs > claim.deadline`,
    replace: ``,
  },
  {
    bug: "re-entry does not prolong the lease",
    file: "acquire.ts",
    find: `    claim.ttlMs = ttlMs;\n    state.deadlines.set(claim, state.now + ttlMs);\n`,
    replace: ``,
  },
  {
    bug: "an extension adds to what is left instead of counting from now",
    file: "holding.ts",
    find: `state.deadlines.set(claim, state.now + command.ttlMs);`,
    replace: `state.deadlines.set(claim, Math.max(state.now, Math.min(claim.deadline, state.now + 1)) + command.ttlMs);`,
  },
  {
    bug: "a session's claim with a ttl has no lease",
    file: "state.ts",
    find: `ttlMs === undefined ? Number.POSITIVE_INFINITY : this.now + ttlMs`,
    replace: `ttlMs === undefined || claim.owner !== undefined ? Number.POSITIVE_INFINITY : this.now + ttlMs`,
  },
  {
    bug: "grants within the quarantine",
    file: "state.ts",
    find: `return this.now < this.quarantineUntil;`,
    replace: `return false;`,
  },
  {
    bug: "a steal does not respect the quarantine",
    file: "acquire.ts",
    find: `if (state.isQuarantined) return false;\n  if (command.steal === true) return true;`,
    replace: `if (command.steal === true) return true;\n  if (state.isQuarantined) return false;`,
  },
  {
    bug: "the end of the quarantine wakes nobody",
    file: "engine.ts",
    find: `      state.quarantineUntil = Number.NEGATIVE_INFINITY;\n      promoteAll(state);`,
    replace: `      state.quarantineUntil = Number.NEGATIVE_INFINITY;`,
  },
  {
    bug: "no timer is set for the end of the quarantine",
    file: "engine.ts",
    find: `state.isQuarantined ? state.quarantineUntil : Number.POSITIVE_INFINITY,`,
    replace: `Number.POSITIVE_INFINITY,`,
  },
  {
    bug: "ended claims are never forgotten",
    file: "engine.ts",
    find: `if (claim === undefined || claim.deadline > state.now) break;`,
    replace: `if (claim === undefined || claim.deadline > 0) break;`,
  },
  {
    bug: "ended claims are forgotten after one ttl",
    file: "state.ts",
    find: `Math.max(2 * (ttlMs ?? 0), MEMORY_MS)`,
    replace: `Math.max(ttlMs ?? 0, MEMORY_MS)`,
  },
];
