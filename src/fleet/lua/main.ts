/** Lua: one call, from its arguments to its answer. */

export const MAIN: string = String.raw`
-- When somebody must call again; nil: never. What ended is forgotten in groups, by the minute: late, it only costs room.
local function nextDeadline()
  if isOver() or space.pending > 0 then return now end
  local least = math.min(space.quarantine or math.huge, firstDue())
  if space.begins > 0 then least = math.min(least, firstBegunDue()) end
  if space.leases[1] and space.leases[1] ~= me then least = math.min(least, tonumber(space.leases[2]))
  elseif space.leases[3] then least = math.min(least, tonumber(space.leases[4])) end
  least = math.min(least, math.ceil(space.forgetAt / 60000) * 60000)
  return least < math.huge and least or nil
end

-- What comes with a call that has no commands.
local function tick()
  if openedEngine or (space.begins > 0 and firstBegunDue() <= now) then engine().step({ kind = 'tick' }) end
end

-- Carries the commands out, unless that was done already.
local function serveCommands(own)
  if own.batch and batch <= own.batch then return tick() end
  own.batch, own.served = batch, 0
  if commandCount == 0 then return tick() end
  local step = engine().step
  for i = COMMANDS_BEFORE + 1, #ARGV do
    if isOver() or not step(cjson.decode(ARGV[i]), ARGV[i]) then break end
    own.served = own.served + 1
  end
end

-- What there is about this process; nil when nobody knows it.
local function findOwn()
  local own = { key = at('p:' .. me), served = 0, letter = 0, deleted = 0, granted = 0 }
  local first, firstEnd, second, secondEnd = unpack(space.leases)
  local leaseEnd = tonumber(me == first and firstEnd or me == second and secondEnd or call('ZSCORE', tables.processes, me) or nil)
  -- One whose end has only begun is over all the same.
  if leaseEnd and leaseEnd <= now then return nil end
  if leaseEnd then
    local found = call('HMGET', own.key, 'batch', 'served', 'letter', 'deleted', 'granted')
    own.batch, own.served = tonumber(found[1] or nil), tonumber(found[2] or 0)
    own.letter, own.deleted, own.granted = tonumber(found[3] or 0), tonumber(found[4] or 0), tonumber(found[5] or 0)
  elseif extras.join then
    call('HSET', own.key, 'channel', extras.join.channel)
    if space.idle then engine().idle().awaken() end
  else
    return nil
  end
  call('ZADD', tables.processes, num(now + leaseMs), me)
  return own
end

-- Deletes what was read, adds what this call has for its own process, and returns all that it has not read.
local function exchangeMail(own)
  local mail = at('mail:' .. me)
  local unread = own.letter - read
  local texts = {}
  if unread > 0 then texts = call('LRANGE', mail, -unread, -1) end
  if read > own.deleted then
    if unread > 0 then call('LTRIM', mail, -unread, -1) else call('DEL', mail) end
    if own.granted > own.deleted then call('ZREMRANGEBYSCORE', at('pg:' .. me), '-inf', read) end
    own.deleted = read
  end
  local text = openedEngine and openedEngine.ownLetter()
  if text then
    own.letter = own.letter + 1
    call('RPUSH', mail, text)
    texts[#texts + 1] = text
  end
  return texts
end

loadSpace()
-- First of all it turns out who is over; what is due about records comes with the first command, as in an engine.
if not isNothingDue() then engine().serveDue() end
if space.forgetAt <= now then engine().forgetSome(commandCount == 0 and 1000 or 16) end
local own = findOwn()
if own then serveCommands(own) else tick() end
local isLeaving = own ~= nil and extras.leave and own.served == commandCount
local texts = {}
if own then
  texts = exchangeMail(own)
  if not isLeaving then
    call('HSET', own.key, 'batch', num(own.batch), 'served', own.served, 'letter', num(own.letter), 'deleted', num(own.deleted))
  end
end
if isLeaving then engine().leave() end
if openedEngine then
  openedEngine.finishCall()
  if isLeaving and not extras.now then openedEngine.idle().expireIfIdle() end
end
saveSpace()

local next = nextDeadline()
return '{"standing":"' .. (own and 'known' or 'unknown') .. '","served":' .. (own and own.served or 0)
  .. ',"last":' .. (own and num(own.letter) or '0') .. ',"letters":[' .. table.concat(texts, ',') .. ']'
  .. ',"now":' .. num(now) .. (next and ',"next":' .. num(next) or '')
  .. (extras.watch and ',"touches":' .. num(space.touches or 0) or '') .. ',"epoch":"' .. space.epoch .. '"}'
`;
