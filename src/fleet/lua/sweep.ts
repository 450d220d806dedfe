/** Lua: the end of a process that was not heard of for the length of its lease, or that goes. */

import { FLEET_DEFAULTS } from "../script.ts";

export const SWEEP: string = String.raw`
-- So many are looked at together: a call may stop after any of them, and the next one goes on from there.
local SWEPT_TOGETHER = 100

-- Every session's waiting claims leave before any holding ends: no key is handed to a session of the same process. Whether all is done.
local function sweepWaiting(process, touched)
  local own = at('p:' .. process)
  local sweptTo = call('HGET', own, 'swept') or '-inf'
  while sweptTo ~= 'all' do
    if isOver() then return false end
    local found = call(
      'ZRANGEBYSCORE', at('ps:' .. process), '(' .. sweptTo, '+inf', 'WITHSCORES', 'LIMIT', 0, SWEPT_TOGETHER
    )
    if not found[1] then sweptTo = 'all' end
    for i = 1, #found, 2 do
      if isOver() then break end
      local session = sessionOf(found[i])
      if session.graceMs == 0 then endWaiting(session, 'dropped', touched) end
      work = work + 1
      sweptTo = found[i + 1]
    end
    call('HSET', own, 'swept', sweptTo)
  end
  return true
end

local function sweepSession(session, leaseEnd, touched)
  work = work + 1
  if session.graceMs == 0 then
    endHoldings(session, 'dropped', touched, false)
    return closeSession(session, 'dropped')
  end
  call('ZREM', at('ps:' .. session.process), session.id)
  if session.deadline then return end
  setSessionDeadline(session, leaseEnd + session.graceMs)
  saveSession(session)
end

-- Whether all is done.
local function sweepSessions(process, leaseEnd, touched)
  while true do
    local ids = call('ZRANGE', at('ps:' .. process), 0, SWEPT_TOGETHER - 1)
    if not ids[1] then return true end
    for _, id in ipairs(ids) do
      if isOver() then return false end
      sweepSession(sessionOf(id), leaseEnd, touched)
    end
  end
end

local function orphan(member, item, due, isClaim)
  item.isOrphan = true
  work = work + 1
  call('ZADD', isClaim and tables.due or tables.bdue, due, pad(tonumber(member)) .. 'o')
  space.dueAt, space.begunDueAt = nil, nil
  if isClaim then save(item) else ledger().saveBegun(item) end
end

-- What they were granted in letters that nobody has read, they have not heard of. Whether all is done.
local function orphanGranted(process, due)
  local granted = at('pg:' .. process)
  while not isOver() do
    local ids = call('ZRANGE', granted, 0, SWEPT_TOGETHER - 1)
    if not ids[1] then return true end
    for _, id in ipairs(ids) do
      local claim = claimOf(id)
      -- It may be over, or the caller may have asked again elsewhere.
      if claim and claim.state == 'holding' and claim.process == process then orphan(id, claim, due, true) end
    end
    call('ZREM', granted, unpack(ids))
  end
  return false
end

-- Callers that waited there may turn up elsewhere, under the same request id. Whether all is done.
local function orphanCallers(process, leaseEnd)
  local due = num(leaseEnd + (extras.returnMs or ${FLEET_DEFAULTS.returnMs}))
  if not orphanGranted(process, due) then return false end
  while not isOver() do
    local members = call('SPOP', at('pw:' .. process), SWEPT_TOGETHER)
    if not members[1] then return true end
    for _, member in ipairs(members) do
      local id = string.sub(member, 2)
      local isClaim = string.sub(member, 1, 1) == 'c'
      orphan(id, isClaim and claimOf(id) or ledger().begunOf(id), due, isClaim)
    end
  end
  return false
end

-- The process is over, since its lease is. What is left of this for the next call comes there before anything else.
local function sweep(process, leaseEnd)
  local touched = {}
  local isDone = sweepWaiting(process, touched)
    and sweepSessions(process, leaseEnd, touched)
    and orphanCallers(process, leaseEnd)
  if isDone then
    call('ZREM', tables.processes, process)
    call('UNLINK', at('p:' .. process), at('mail:' .. process), at('ps:' .. process), at('pw:' .. process), at('pg:' .. process))
    promoteKeys(touched)
  else
    for _, key in ipairs(touched) do postpone(key) end
  end
  return isDone
end
`;
