/** Lua: what happens by itself: deadlines of claims and sessions, processes that are gone, and what an earlier call left over. */

import { FLEET_DEFAULTS } from "../script.ts";

export const DUE: string = String.raw`
-- Whether all is done. Every session's waiting claims leave before any holding ends: no key is handed to a session of the same process.
local function sweepSessions(ids, leaseEnd, touched)
  for _, id in ipairs(ids) do
    if isOver() then return false end
    local session = sessionOf(id)
    if session.graceMs == 0 then endWaiting(session, 'dropped', touched) end
  end
  for _, id in ipairs(ids) do
    if isOver() then return false end
    local session = sessionOf(id)
    if session.graceMs == 0 then
      endHoldings(session, 'dropped', touched, false)
      closeSession(session, 'dropped')
    else
      call('ZREM', at('ps:' .. session.process), id)
      if not session.deadline then
        setSessionDeadline(session, leaseEnd + session.graceMs)
        saveSession(session)
      end
    end
  end
  return true
end

-- Callers that waited there may turn up elsewhere, under the same request id.
local function orphanCallers(process, leaseEnd)
  local due = num(leaseEnd + (settings.returnMs or ${FLEET_DEFAULTS.returnMs}))
  for _, member in ipairs(call('SMEMBERS', at('pw:' .. process))) do
    local id = string.sub(member, 2)
    local isClaim = string.sub(member, 1, 1) == 'c'
    local item = isClaim and claimOf(id) or begunOf(id)
    item.isOrphan = true
    call('ZADD', isClaim and DUE or BEGUN_DUE, due, pad(tonumber(id)) .. 'o')
    if isClaim then save(item) else saveBegun(item) end
  end
end

-- The process is over, since its lease is. What is left of this for the next call comes there before anything else.
local function sweep(process, leaseEnd)
  local touched = {}
  local isDone = sweepSessions(call('ZRANGE', at('ps:' .. process), 0, -1), leaseEnd, touched)
  if isDone then
    orphanCallers(process, leaseEnd)
    call('ZREM', PROCESSES, process)
    call('UNLINK', at('p:' .. process), at('mail:' .. process), at('ps:' .. process), at('pw:' .. process))
    promoteKeys(touched)
  elseif #touched > 0 then
    call('RPUSH', PENDING, unpack(touched))
  end
  return isDone
end

local function sweepProcesses()
  while true do
    local first = call('ZRANGE', PROCESSES, 0, 0, 'WITHSCORES')
    local leaseEnd = tonumber(first[2])
    if not leaseEnd or leaseEnd > now then return true end
    if not sweep(first[1], leaseEnd) then return false end
  end
end

local function servePending()
  while not isOver() do
    local key = call('LPOP', PENDING)
    if not key then return true end
    promote(key)
  end
  return false
end

local function serveDeadline(member)
  local kind = string.sub(member, 17, 17)
  if kind == 's' then return lose(sessionOf(string.sub(member, 18))) end
  local claim = claimOf(num(tonumber(string.sub(member, 1, 16))))
  if kind == 'o' then
    -- Nobody came back for it: neither for the wait nor for what it was granted meanwhile.
    claim.abandoned = true
    finish(claim, 'cancelled')
  else
    finish(claim, claim.state == 'waiting' and 'timed_out' or 'expired')
  end
  promote(claim.asked.key)
end

-- One at a time, earliest first: what one of them sets free may be due itself. Whether all is done.
local function serveDue()
  if not isDue then return true end
  if not sweepProcesses() or not servePending() then return false end
  while not isOver() do
    local first = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')
    local due = tonumber(first[2])
    if space.quarantine and space.quarantine <= now and (not due or space.quarantine <= due) then
      space.quarantine = nil
      promoteAll()
    elseif not due or due > now then
      isDue = call('EXISTS', PENDING) == 1
      return not isDue
    else
      serveDeadline(first[1])
    end
  end
  return false
end
`;
