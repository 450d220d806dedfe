/** Lua: how a claim comes about: repeats, re-entry, limits, and whether it is granted, queued or refused. */

import { NEST_MEMORY_MAX } from "../../core/limits.ts";

export const ACQUIRE: string = String.raw`
local SAME = { 'key', 'mode', 'limit', 'timeoutMs', 'ttlMs', 'token', 'meta', 'message', 'session' }
local SAME_FLAGS = { 'nest', 'steal', 'keep' }

local function isSameRequest(a, b)
  for _, name in ipairs(SAME) do
    if a[name] ~= b[name] then return false end
  end
  for _, name in ipairs(SAME_FLAGS) do
    if (a[name] or false) ~= (b[name] or false) then return false end
  end
  return true
end

local function tellLost(command, claim)
  answer({
    kind = 'lost', to = command.from, request = command.request, key = command.key,
    reason = claim and claim.outcome or 'unknown', by = claim and claim.by,
  })
end

local function tellQueued(claim)
  answer({
    kind = 'queued', to = claim.asked.from, request = claim.asked.request, key = claim.asked.key,
    ticket = claim.ticket, position = call('ZRANK', queueOf(claim.asked.key), claim.id) + 1,
  })
end

local function whoDid(from, meta, message)
  local session = sessionOf(from)
  return { session = session and session.id, meta = meta or (session and session.meta), message = message }
end

-- A session speaks through the process that it is connected to: what another one still sends for it is from before.
local function speaker(from)
  local session = sessionOf(from)
  return session and session.process == me and session or nil
end

-- A caller belongs to the process that asked last for it.
local function watch(claim)
  if claim.asked.session then return end
  if claim.process ~= me then
    unwatch(claim)
    claim.process = me
    save(claim)
  end
  if claim.state == 'waiting' then call('SADD', at('pw:' .. me), 'c' .. claim.id) end
  if claim.isOrphan then
    adopt(claim)
    save(claim)
  end
end

-- The same request again: the answer was lost, or it crossed. It is the same claim, so it gets that claim's answer.
local function repeatAcquire(claim, command)
  if not isSameRequest(claim.asked, command) then return refuse(command, 'request_mismatch') end
  watch(claim)
  if claim.state == 'waiting' then return tellQueued(claim) end
  if claim.state == 'holding' then
    return tellGranted(me, claim, command.from, command.request, false, claim.depth)
  end
  answer({
    kind = 'ended', to = command.from, request = command.request, key = command.key,
    outcome = claim.outcome, held = claim.fence ~= nil, again = true, by = claim.by,
  })
end

local function findNest(claim, command)
  for _, nest in ipairs(claim.nested or {}) do
    if nest.request == command.request and nest.from == command.from then return nest end
  end
end

local function rememberNest(claim, command)
  claim.nested = claim.nested or {}
  table.insert(claim.nested, { from = command.from, request = command.request, depth = claim.depth })
  if #claim.nested > ${NEST_MEMORY_MAX} then table.remove(claim.nested, 1) end
end

local function reenter(command)
  local claim = findToken(command.token, command.key)
  if not claim or claim.state == 'gone' then return tellLost(command, claim) end
  if command.nest then
    local before = findNest(claim, command)
    if before then return tellGranted(me, claim, command.from, command.request, true, before.depth) end
    if claim.depth >= limitOf('depthMax') then return refuse(command, 'depth_limit') end
    claim.depth = claim.depth + 1
    rememberNest(claim, command)
  end
  -- A claim without a deadline has its session as lease: nothing is longer.
  if claim.deadline and command.ttlMs and now + command.ttlMs > claim.deadline then
    claim.ttlMs = command.ttlMs
    setClaimDeadline(claim, now + command.ttlMs)
    noteChanged(command.key)
  end
  save(claim)
  tellGranted(me, claim, command.from, command.request, true, claim.depth)
end

-- Nobody overtakes a waiter, so a free place is not enough: the queue must be empty.
local function canGrant(command, limit)
  if isQuarantined() then return false end
  if command.steal then return true end
  if limit == false then return true end
  return call('EXISTS', queueOf(command.key)) == 0 and admits(command.key, command.mode, limit)
end

local function steal(command)
  local by = whoDid(command.from, command.meta, command.message)
  for _, id in ipairs(call('ZRANGE', holdersOf(command.key), 0, -1)) do finish(claimOf(id), 'stolen', by) end
end

-- The name of the limit that stands in the way, or nil.
local function limitInTheWay(command, owner, limit)
  if owner then
    if call('ZCARD', at('live:' .. owner.id)) >= limitOf('claimsPerSessionMax') then return 'claims_per_session' end
  elseif space.callers >= limitOf('callerClaimsMax') then
    return 'caller_claims'
  end
  if limit == false and call('HLEN', LATCHES) >= limitOf('keysMax') then return 'keys' end
end

function LOCKS.acquire(command, raw)
  local known = findRequest(command.from, command.request)
  if known then return repeatAcquire(known, command) end
  local owner = command.session and speaker(command.from) or nil
  if command.session and not owner then return refuse(command, 'session_ended') end
  if command.token then return reenter(command) end

  local key = command.key
  local limit = latchOf(key)
  if limit ~= false and limit ~= (command.limit or '') then return refuse(command, 'limit_mismatch') end
  local inTheWay = limitInTheWay(command, owner, limit)
  if inTheWay then return refuseLimit(command, inTheWay) end
  local isGranted = canGrant(command, limit)
  local isTry = command.timeoutMs == 0
  if not isGranted and not isTry and call('ZCARD', queueOf(key)) >= limitOf('waitersPerKeyMax') then
    return refuseLimit(command, 'waiters_per_key')
  end

  local claim = newClaim(command, raw, owner)
  call('HSET', requestsOf(command.from), command.request, claim.id)
  countLive(claim, 1)
  if isTry and not isGranted then return finish(claim, 'timed_out') end
  if limit == false then openLatch(key, command.limit) end
  if isGranted then
    if command.steal then steal(command) end
    return grant(claim)
  end
  call('ZADD', queueOf(key), num(claim.ticket), claim.id)
  if command.timeoutMs then setClaimDeadline(claim, now + command.timeoutMs) end
  noteChanged(key)
  save(claim)
  watch(claim)
  tellQueued(claim)
end
`;
