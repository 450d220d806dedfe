import type { LuaMutant } from "./mutant.ts";

/** Bugs of who hears what: routes between processes, and their mail. */
export const MAIL_MUTANTS: readonly LuaMutant[] = [
  {
    bug: "a grant is told to whoever caused it",
    find: `tellGranted(routeOf(claim), claim, claim.asked.from, claim.asked.request, false, 1)`,
    replace: `tellGranted(me, claim, claim.asked.from, claim.asked.request, false, 1)`,
  },
  {
    bug: "an end is told to the process that asked first, not to where the session is now",
    find: `return owner and owner.process or claim.process`,
    replace: `return claim.process`,
  },
  {
    bug: "a caller's claim stays with the process that asked first",
    find: `    unwatch(claim)\n    claim.process = me\n    save(claim)`,
    replace: `    unwatch(claim)\n    save(claim)`,
  },
  {
    bug: "an answer lacks what others caused",
    find: `if unread > 0 then texts = call('LRANGE', mail, -unread, -1) end`,
    replace: ``,
  },
  {
    bug: "letters are told in the wrong order",
    find: `      call('RPUSH', at('mail:' .. process), text)`,
    replace: `      call('LPUSH', at('mail:' .. process), text)`,
  },
  {
    bug: "two letters have one number",
    find: `local number = call('HINCRBY', at('p:' .. process), 'letter', 1)`,
    replace: `local number = tonumber(call('HGET', at('p:' .. process), 'letter'))`,
  },
  {
    bug: "a session's old process is not told that it moved",
    find: `    tell(session.process, { kind = 'moved', to = session.id })\n`,
    replace: ``,
  },
  {
    bug: "what changed is not published",
    find: `  publishTouched()\n  saveClaims()`,
    replace: `  saveClaims()`,
    seed: 5,
  },
];
