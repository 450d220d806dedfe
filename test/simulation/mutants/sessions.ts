import type { Mutant } from "./mutant.ts";

/** Bugs of connections, and of what is there after a restart. */
export const SESSION_MUTANTS: readonly Mutant[] = [
  {
    bug: "a leaving session's holdings end before its waits",
    file: "sessions.ts",
    find: `if (claim.state === "waiting") endTouching(state, claim, waiting, touched, by);\n  }\n  for (const claim of claims) {\n    if (claim.state !== "holding") continue;`,
    replace: `if (claim.state === "holding" && claim.asked.keep !== true) endTouching(state, claim, holding, touched, by);\n  }\n  for (const claim of claims) {\n    if (claim.state === "waiting") endTouching(state, claim, waiting, touched, by);\n    if (claim.state !== "holding") continue;`,
  },
  {
    bug: "a key is handed to the very session that is leaving",
    file: "sessions.ts",
    find: `  state.end(claim, outcome, by);\n}`,
    replace: `  const latch = claim.latch as Latch;\n  state.end(claim, outcome, by);\n  state.promote(latch);\n}`,
  },
  {
    bug: "a dropped session wakes nobody",
    file: "sessions.ts",
    find: `{ reason: "dropped" });\n  for (const latch of touched) state.promote(latch);`,
    replace: `{ reason: "dropped" });\n  for (const latch of touched) void latch;`,
  },
  {
    bug: "a session whose waits alone end wakes nobody",
    file: "sessions.ts",
    find: `  touched.add(claim.latch as Latch);`,
    replace: `  if (claim.wasGranted) touched.add(claim.latch as Latch);`,
  },
  {
    bug: "a dropped session's waiters stay in the queue",
    file: "sessions.ts",
    find: `if (claim.state === "waiting") endTouching(state, claim, waiting, touched, by);`,
    replace: ``,
  },
  {
    bug: "a wrong secret resumes a session",
    file: "sessions.ts",
    find: `session === undefined || session.secret !== command.secret`,
    replace: `session === undefined`,
  },
  {
    bug: "a resumed session still ends with its grace",
    file: "sessions.ts",
    find: `  state.deadlines.set(session, Number.POSITIVE_INFINITY);\n`,
    replace: ``,
  },
  {
    bug: "a second close event begins the grace anew",
    file: "sessions.ts",
    find: `  if (session.slot !== -1) return;\n`,
    replace: ``,
  },
  {
    bug: "a grace makes no difference",
    file: "sessions.ts",
    find: `if (session.graceMs === 0) return lose(state, session);`,
    replace: `if (session.graceMs >= 0) return lose(state, session);`,
  },
  {
    bug: "a kept lock ends with its session",
    file: "sessions.ts",
    find: `claim.isKept && why.reason !== "revoked"`,
    replace: `claim.isKept && why.reason === "bye"`,
  },
  {
    bug: "a kept lock survives the revocation of its session",
    file: "sessions.ts",
    find: `claim.isKept && why.reason !== "revoked"`,
    replace: `claim.isKept`,
  },
  {
    bug: "a kept lock whose session is over makes room for one more caller when it ends",
    file: "state.ts",
    find: `else if (!claim.isOfSession) this.callerLiveCount`,
    replace: `else this.callerLiveCount`,
  },
  {
    bug: "the requests of a session that is over are never forgotten",
    file: "sessions.ts",
    find: `    if (!claim.wasGranted) state.forget(claim);\n`,
    replace: ``,
  },
  {
    bug: "sessions without limit",
    file: "sessions.ts",
    find: `state.sessions.size >= state.limits.sessionsMax`,
    replace: `state.sessions.size > state.limits.sessionsMax`,
  },
  {
    bug: "a restart does not know the tokens of before",
    file: "rebuild.ts",
    find: `if (claim.wasGranted) state.tokens.set(claim.token, claim);`,
    replace: `if (claim.state === "holding") state.tokens.set(claim.token, claim);`,
  },
  {
    bug: "a restart loses the order of the queue",
    file: "rebuild.ts",
    find: `claims.sort((a, b) => a.ticket - b.ticket);`,
    replace: `claims.sort((a, b) => b.ticket - a.ticket);`,
  },
  {
    bug: "a restart wakes nobody",
    file: "engine.ts",
    find: `    rebuild(state, image);\n    serveDue(state);\n    promoteAll(state);`,
    replace: `    rebuild(state, image);\n    serveDue(state);`,
  },
  {
    bug: "what was restored is never deleted from the store",
    file: "claim.ts",
    find: `claim.stored = true;`,
    replace: `claim.stored = false;`,
  },
  {
    bug: "an extension is not stored",
    file: "holding.ts",
    find: `  state.deadlines.set(claim, state.now + command.ttlMs);\n  state.store(claim);`,
    replace: `  state.deadlines.set(claim, state.now + command.ttlMs);`,
  },
  {
    bug: "a grant is not stored",
    file: "state.ts",
    find: `    this.store(claim);\n    this.tellGranted(`,
    replace: `    this.tellGranted(`,
  },
  {
    bug: "the end of a stored claim is not stored: it holds again after a restart",
    file: "state.ts",
    find: `    if (claim.stored) this.store(claim);\n`,
    replace: ``,
  },
  {
    bug: "a session's suspension is not stored",
    file: "sessions.ts",
    find: `  state.deadlines.set(session, state.now + session.graceMs);\n  state.storeSession(session);`,
    replace: `  state.deadlines.set(session, state.now + session.graceMs);`,
  },
];
