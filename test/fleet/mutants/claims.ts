import type { LuaMutant } from "./mutant.ts";

/** Bugs of acquire and release, of expiry, modes, limits, fences and request ids. */
export const CLAIM_MUTANTS: readonly LuaMutant[] = [
  {
    bug: "a reader overtakes a queued writer",
    find: `return call('EXISTS', queueOf(command.key)) == 0 and admits(`,
    replace: `return (command.mode == 'shared' or call('EXISTS', queueOf(command.key)) == 0) and admits(`,
  },
  {
    bug: "a limit lets one more in",
    find: `return limit == '' or call('ZCARD', holders) < limit`,
    replace: `return limit == '' or call('ZCARD', holders) <= limit`,
  },
  {
    bug: "a writer joins readers",
    find: `if mode == 'exclusive' or claimOf(first).asked.mode == 'exclusive' then return false end`,
    replace: `if claimOf(first).asked.mode == 'exclusive' then return false end`,
  },
  {
    bug: "another limit than that of the key is taken",
    find: `if limit ~= false and limit ~= (command.limit or '') then return refuse(command, 'limit_mismatch') end`,
    replace: ``,
  },
  {
    bug: "a shared grant ends the look at the queue",
    find: `if claim.asked.mode == 'exclusive' and not isDue then return end`,
    replace: `if not isDue then return end`,
    seed: 13,
  },
  {
    bug: "a release wakes nobody",
    find: `  promote(command.key)\n  tellReleased(command, 0, false)`,
    replace: `  tellReleased(command, 0, false)`,
  },
  {
    bug: "a release is answered before the next holder is told",
    find: `  promote(command.key)\n  tellReleased(command, 0, false)`,
    replace: `  tellReleased(command, 0, false)\n  promote(command.key)`,
  },
  {
    bug: "one release ends a nested holding",
    find: `if claim.depth > 1 then`,
    replace: `if claim.depth > 2 then`,
    seed: 9,
  },
  {
    bug: "a repeated release takes another level off",
    find: `if before and before.request == command.request and before.from == command.from then`,
    replace: `if false then`,
    seed: 10,
  },
  {
    bug: "a fence is that of the grant before",
    find: `claim.fence = nextSerial()`,
    replace: `claim.fence = space.serial`,
  },
  {
    bug: "what is due now waits until later",
    find: `elseif space.dueAt > now then`,
    replace: `elseif space.dueAt >= now then`,
  },
  {
    bug: "a lease is counted from when it was asked for, not from the grant",
    find: `setClaimDeadline(claim, claim.ttlMs and now + claim.ttlMs)`,
    replace: `setClaimDeadline(claim, claim.deadline or (claim.ttlMs and now + claim.ttlMs))`,
  },
  {
    bug: "an extension leaves the deadline as it was",
    find: `  claim.ttlMs = command.ttlMs\n  setClaimDeadline(claim, now + command.ttlMs)\n  noteChanged(command.key)\n  save(claim)`,
    replace: `  claim.ttlMs = command.ttlMs\n  noteChanged(command.key)\n  save(claim)`,
  },
  {
    bug: "re-entry shortens the lease",
    find: `if claim.deadline and command.ttlMs and now + command.ttlMs > claim.deadline then`,
    replace: `if claim.deadline and command.ttlMs then`,
  },
  {
    bug: "a repeated nested acquire counts again",
    find: `if before then return tellGranted(me, claim, command.from, command.request, true, before.depth) end`,
    replace: ``,
    seed: 69,
  },
  {
    bug: "the same request twice is two claims",
    find: `if known then return repeats().repeatAcquire(known, command) end`,
    replace: ``,
  },
  {
    bug: "a request with other arguments is the same one",
    find: `if not isSameRequest(claim.asked, command) then return refuse(command, 'request_mismatch') end`,
    replace: ``,
  },
  {
    bug: "an ended claim is forgotten a second early",
    find: `/ 1000) * 1000\n  call('ZADD', tables.ended`,
    replace: `/ 1000) * 1000 - 1000\n  call('ZADD', tables.ended`,
  },
  {
    bug: "too many ended claims are remembered",
    find: `while space.remembered > limitOf('endedMax') do`,
    replace: `while space.remembered > limitOf('endedMax') + 1 do`,
    seed: 12,
  },
  {
    bug: "a token of another key is good for this one",
    find: `return claim and claim.asked.key == key and claim or nil`,
    replace: `return claim`,
  },
  {
    bug: "a key stays listed when nobody holds it any more",
    find: `  call('ZREM', tables.keys, key)`,
    replace: ``,
  },
  {
    bug: "a steal ends the newest holder alone",
    find: `for _, id in ipairs(call('ZRANGE', holdersOf(command.key), 0, -1)) do finish(claimOf(id), 'stolen', by) end`,
    replace: `for _, id in ipairs(call('ZRANGE', holdersOf(command.key), -1, -1)) do finish(claimOf(id), 'stolen', by) end`,
    seed: 18,
  },
  {
    bug: "what a waiter asks outlives its wait",
    find: `if claim.ask then askNoMore(claim) end\nend`,
    replace: `end`,
  },
];
