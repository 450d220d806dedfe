/** Lua: how a claim comes about: limits, and whether it is granted, queued or refused. */

export const ACQUIRE: string = String.raw`
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
  if limit == false and call('HLEN', tables.latches) >= limitOf('keysMax') then return 'keys' end
end

function LOCKS.acquire(command, raw)
  local known = findRequest(command.from, command.request)
  if known then return repeats().repeatAcquire(known, command) end
  local owner = command.session and speaker(command.from) or nil
  if command.session and not owner then return refuse(command, 'session_ended') end
  if command.token then return repeats().reenter(command) end

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
  call('ZADD', queueOf(key), claim.id, claim.id)
  if command.timeoutMs then setClaimDeadline(claim, now + command.timeoutMs) end
  noteChanged(key)
  save(claim)
  watch(claim)
  tellQueued(claim)
end
`;
