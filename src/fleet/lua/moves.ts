/** Lua: the two moves that every rule is made of, a claim is granted, a claim ends; and what follows from them for its key. */

import { MEMORY_MS } from "../../core/limits.ts";

export const MOVES: string = String.raw`
-- Where a claim's news go. A kept lock outlives its session, and keeps the process that had it.
local function routeOf(claim)
  local owner = claim.owner and sessionOf(claim.owner)
  return owner and owner.process or claim.process
end

local function countLive(claim, change)
  if claim.owner then
    if change > 0 then call('ZADD', at('live:' .. claim.owner), claim.id, claim.id)
    else call('ZREM', at('live:' .. claim.owner), claim.id) end
  elseif not claim.asked.session then
    space.callers = space.callers + change
  end
end

local function forgetRequest(claim)
  local requests = requestsOf(claim.asked.from)
  if call('HGET', requests, claim.asked.request) == claim.id then call('HDEL', requests, claim.asked.request) end
end

-- Takes an ended claim out of every table.
local function forget(claim)
  call('ZREM', tables.forget, claim.id)
  call('ZREM', tables.ended, claim.id)
  space.remembered = space.remembered - 1
  if claim.fence then call('HDEL', tables.tokens, claim.asked.newToken)
  elseif claim.owner then call('ZREM', at('un:' .. claim.owner), claim.id) end
  forgetRequest(claim)
  removeClaim(claim)
end

-- Forgetting may be late, so what is to be forgotten counts as forgotten.
local function unlessForgotten(claim)
  if claim == nil or claim.state ~= 'gone' or claim.forgetAt > now then return claim end
  forget(claim)
  return nil
end

local function findRequest(from, request)
  local id = call('HGET', requestsOf(from), request)
  return id and unlessForgotten(claimOf(id)) or nil
end

-- A token of another key is as good as none.
local function findToken(token, key)
  local id = call('HGET', tables.tokens, token)
  local claim = id and unlessForgotten(claimOf(id)) or nil
  return claim and claim.asked.key == key and claim or nil
end

local function forgetSome(countMax)
  for _, id in ipairs(call('ZRANGEBYSCORE', tables.forget, '-inf', num(now), 'LIMIT', 0, countMax)) do forget(claimOf(id)) end
  space.forgetAt = tonumber(call('ZRANGE', tables.forget, 0, 0, 'WITHSCORES')[2]) or math.huge
end

local function remember(claim)
  if claim.abandoned then forgetRequest(claim) end
  local owner = claim.owner and sessionOf(claim.owner)
  if not claim.fence and (claim.abandoned or (owner and owner.isEnding)) then
    forgetRequest(claim)
    removeClaim(claim)
    return
  end
  space.ends = space.ends + 1
  -- Rounded up to a whole second, as the engine does.
  claim.forgetAt = math.ceil((now + math.max(2 * (claim.ttlMs or 0), ${MEMORY_MS})) / 1000) * 1000
  call('ZADD', tables.ended, num(space.ends), claim.id)
  call('ZADD', tables.forget, num(claim.forgetAt), claim.id)
  space.forgetAt = math.min(space.forgetAt, claim.forgetAt)
  if not claim.fence and claim.owner then call('ZADD', at('un:' .. claim.owner), claim.id, claim.id) end
  save(claim)
  space.remembered = space.remembered + 1
  while space.remembered > limitOf('endedMax') do
    local over = call('ZRANGEBYSCORE', tables.forget, '-inf', num(space.forgottenBy), 'LIMIT', 0, 1)[1]
    forget(claimOf(over or call('ZRANGE', tables.ended, 0, 0)[1]))
  end
end

-- A caller that waits is known to its process, so that it can leave with it.
local function unwatch(claim)
  if claim.owner or claim.asked.session then return end
  call('SREM', at('pw:' .. claim.process), 'c' .. claim.id)
end

local function askNoMore(claim)
  claim.ask = nil
  call('ZREM', askingOf(claim.asked.key), claim.id)
end

-- A claim leaves its queue, and what it asks is gone with that.
local function dequeue(claim)
  call('ZREM', queueOf(claim.asked.key), claim.id)
  unwatch(claim)
  if claim.ask then askNoMore(claim) end
end

local function adopt(claim)
  if claim.isOrphan then
    claim.isOrphan = nil
    call('ZREM', tables.due, pad(claim.ticket) .. 'o')
    space.dueAt = nil
  end
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

local function tellQueued(claim)
  local asked = claim.asked
  answer(string.format(
    '{"kind":"queued"%s,"ticket":%s,"position":%d}', addressed(asked.from, asked.request, asked.key),
    claim.id, call('ZRANK', queueOf(asked.key), claim.id) + 1
  ))
end

local function tellGranted(process, claim, to, request, reentrant, depth)
  local asked = claim.asked
  local lease = claim.ttlMs and string.format(',"ttlMs":%.17g,"expiresAt":%.17g', claim.ttlMs, claim.deadline) or ''
  tell(process, string.format(
    '{"kind":"granted"%s,"token":%s,"fence":%.17g,"ticket":%s,"mode":"%s","reentrant":%s,"depth":%d%s}',
    addressed(to, request, asked.key), quote(asked.newToken), claim.fence, claim.id, asked.mode, tostring(reentrant), depth, lease
  ))
end

-- The claim, in no queue, becomes a holder of its key.
local function grant(claim)
  work = work + 1
  claim.state = 'holding'
  claim.fence = nextSerial()
  claim.grantedAt = now
  claim.depth = 1
  call('ZADD', holdersOf(claim.asked.key), num(claim.fence), claim.id)
  call('HSET', tables.tokens, claim.asked.newToken, claim.id)
  setClaimDeadline(claim, claim.ttlMs and now + claim.ttlMs)
  noteChanged(claim.asked.key)
  save(claim)
  tellGranted(routeOf(claim), claim, claim.asked.from, claim.asked.request, false, 1)
  local isFarCaller = not claim.asked.session and claim.process ~= me
  if isFarCaller then table.insert(letterOf(claim.process).granted, claim.id) end
end

-- A live claim is over. Its key is looked at by promote, which the caller owes.
local function finish(claim, outcome, by)
  work = work + 1
  local held = claim.state == 'holding'
  if held then call('ZREM', holdersOf(claim.asked.key), claim.id)
  else dequeue(claim) end
  adopt(claim)
  claim.state = 'gone'
  claim.outcome = outcome
  claim.by = by
  setClaimDeadline(claim, nil)
  noteChanged(claim.asked.key)
  countLive(claim, -1)
  local asked = claim.asked
  tell(routeOf(claim), string.format(
    '{"kind":"ended"%s,"outcome":"%s","held":%s%s}', addressed(asked.from, asked.request, asked.key),
    outcome, tostring(held), by and ',"by":' .. json(by) or ''
  ))
  remember(claim)
end

-- Whether a claim of this mode could hold together with those who hold now. The queue is not looked at.
local function admits(key, mode, limit)
  local holders = holdersOf(key)
  local first = call('ZRANGE', holders, 0, 0)[1]
  if not first then return true end
  if mode == 'exclusive' or claimOf(first).asked.mode == 'exclusive' then return false end
  return limit == '' or call('ZCARD', holders) < limit
end

-- Grants what can be granted at the head of the queue. Where there is too much of it for one call, the next one goes on
-- before anything else is served.
local function promote(key)
  local queue = queueOf(key)
  while true do
    local id = call('ZRANGE', queue, 0, 0)[1]
    if not id then break end
    if isOver() then
      return postpone(key)
    end
    local claim = claimOf(id)
    local owner = claim.owner and sessionOf(claim.owner)
    if claim.deadline and claim.deadline < now then finish(claim, 'timed_out')
    elseif owner and owner.deadline and owner.deadline < now then finish(claim, 'dropped')
    elseif not isQuarantined() and admits(key, claim.asked.mode, latchOf(key)) then
      dequeue(claim)
      grant(claim)
      -- Who stands behind it cannot be granted, and nobody's time is over: that has been served.
      if claim.asked.mode == 'exclusive' and not isDue then return end
    else break end
  end
  closeLatchIfFree(key)
end

local function promoteKeys(keys)
  for _, key in ipairs(keys) do promote(key) end
end
`;
