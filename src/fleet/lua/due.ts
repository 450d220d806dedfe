/** Lua: what happens by itself: deadlines of claims and sessions, processes that are gone, and what an earlier call left over. */

export const DUE: string = String.raw`
local function sweepProcesses()
  while firstLeases() <= now do
    if not life().sweep(space.leases[1], tonumber(space.leases[2])) then return false end
  end
  return true
end

local function servePending()
  while space.pending > 0 do
    if isOver() then return false end
    local key = call('LPOP', tables.pending)
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

-- Every key with waiters, the one whose head came first first.
local function promoteAll()
  local heads, keys = {}, {}
  for _, key in ipairs(call('HKEYS', tables.latches)) do
    local id = call('ZRANGE', queueOf(key), 0, 0)[1]
    if id then
      heads[key] = tonumber(id)
      keys[#keys + 1] = key
    end
  end
  table.sort(keys, function(a, b) return heads[a] < heads[b] end)
  promoteKeys(keys)
end

-- One at a time, earliest first: what one of them sets free may be due itself. Whether all is done.
local function serve()
  if not sweepProcesses() or not servePending() then return false end
  while not isOver() do
    local first = call('ZRANGE', tables.due, 0, 0, 'WITHSCORES')
    space.dueAt = tonumber(first[2]) or math.huge
    if space.quarantine and space.quarantine <= now and space.quarantine <= space.dueAt then
      space.quarantine = nil
      promoteAll()
    elseif space.dueAt > now then
      isDue = space.pending > 0
      space.forgottenBy = now
      return not isDue
    else
      serveDeadline(first[1])
    end
  end
  return false
end
`;
