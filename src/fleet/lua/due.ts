/** Lua: what happens by itself: deadlines of claims and sessions, processes that are gone, and what an earlier call left over. */

export const DUE: string = String.raw`
-- Whose leases end first, with when.
local leases

local function sweepProcesses()
  while true do
    leases = call('ZRANGE', PROCESSES, 0, 1, 'WITHSCORES')
    local leaseEnd = tonumber(leases[2])
    if not leaseEnd or leaseEnd > now then return true end
    if not life().sweep(leases[1], leaseEnd) then return false end
  end
end

local function servePending()
  while space.pending > 0 do
    if isOver() then return false end
    local key = call('LPOP', PENDING)
    space.pending = space.pending - 1
    promote(key)
  end
  return true
end

local function serveDeadline(member)
  local kind = string.sub(member, 17, 17)
  if kind == 's' then return life().lose(sessionOf(string.sub(member, 18))) end
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
  if not isDue and space.pending == 0 then return true end
  if not sweepProcesses() or not servePending() then return false end
  while not isOver() do
    local first = call('ZRANGE', DUE, 0, 0, 'WITHSCORES')
    local due = tonumber(first[2])
    if space.quarantine and space.quarantine <= now and (not due or space.quarantine <= due) then
      space.quarantine = nil
      promoteAll()
    elseif not due or due > now then
      isDue = space.pending > 0
      forgottenBy = now
      return not isDue
    else
      serveDeadline(first[1])
    end
  end
  return false
end
`;
