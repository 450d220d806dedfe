import type { LuaMutant } from "./mutant.ts";

/** Bugs of sessions, of grace, of what goes between those who wait and those who hold. */
export const SESSION_MUTANTS: readonly LuaMutant[] = [
  {
    bug: "a session's holdings end before its waits, so that it is handed its own key",
    find: `  endWaiting(session, waiting, touched, by)\n  endHoldings(session, holding, touched, reason == 'revoked', by)\n`,
    replace: `  endHoldings(session, holding, touched, reason == 'revoked', by)\n  promoteKeys(touched)\n  endWaiting(session, waiting, touched, by)\n`,
  },
  {
    bug: "the keys of a session that ended are not looked at",
    find: `promoteKeys(endSession(session, 'dropped', 'dropped', 'dropped'))`,
    replace: `endSession(session, 'dropped', 'dropped', 'dropped')`,
  },
  {
    bug: "a drop ends a session in spite of its grace",
    find: `if session.graceMs == 0 then return lose(session) end\n  if session.deadline`,
    replace: `if session.graceMs >= 0 then return lose(session) end\n  if session.deadline`,
  },
  {
    bug: "a second drop begins the grace anew",
    find: `  if session.deadline then return end\n  setSessionDeadline(session, now + session.graceMs)`,
    replace: `  setSessionDeadline(session, now + session.graceMs)`,
    seed: 5,
  },
  {
    bug: "a session that resumed ends with its grace all the same",
    find: `  setSessionDeadline(session, nil)\n  if session.process ~= me then`,
    replace: `  if session.process ~= me then`,
    seed: 7,
  },
  {
    bug: "a session resumes without its secret",
    find: `if not session or session.secret ~= command.secret then`,
    replace: `if not session then`,
    seed: 4,
  },
  {
    bug: "a resumed session is not shown what ended meanwhile",
    find: `if claim then found[#found + 1] = claim end`,
    replace: `if claim and claim.state ~= 'gone' then found[#found + 1] = claim end`,
  },
  {
    bug: "a kept lock ends with its session",
    find: `if claim.asked.keep and not isRevoked then detach(claim)`,
    replace: `if false then detach(claim)`,
  },
  {
    bug: "a kept lock survives the revocation of its session",
    find: `if claim.asked.keep and not isRevoked then detach(claim)`,
    replace: `if claim.asked.keep then detach(claim)`,
    seed: 86,
  },
  {
    bug: "a session's claims are not counted",
    find: `if call('ZCARD', at('live:' .. owner.id)) >= limitOf('claimsPerSessionMax') then return 'claims_per_session' end`,
    replace: ``,
  },
  {
    bug: "the same words count as a fresh ask",
    find: `local isSame = claim.ask and claim.ask.message == command.message`,
    replace: `local isSame = false`,
    seed: 23,
  },
  {
    bug: "a lock is handed over beside its other holders",
    find: `local isBarred = heir.asked.mode == 'exclusive' and call('ZCARD', holdersOf(key)) > 1`,
    replace: `local isBarred = false`,
  },
];
