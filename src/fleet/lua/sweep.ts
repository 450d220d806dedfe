/** Lua: the end of a process that was not heard of for the length of its lease, or that goes. */

import { FLEET_DEFAULTS } from "../script.ts";

export const SWEEP: string = String.raw`
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
    local item = isClaim and claimOf(id) or ledger().begunOf(id)
    item.isOrphan = true
    call('ZADD', isClaim and DUE or BEGUN_DUE, due, pad(tonumber(id)) .. 'o')
    if isClaim then save(item) else ledger().saveBegun(item) end
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
  else
    for _, key in ipairs(touched) do postpone(key) end
  end
  return isDone
end
`;
