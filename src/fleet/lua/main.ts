/** Lua: one call, from its arguments to its answer. */

import { FLEET_DEFAULTS } from "../script.ts";

export const MAIN: string = String.raw`
function LOCKS.tick() end

-- Whether it was served: what is due comes first, and may be too much for one call.
local function step(command, raw)
  local isReady = serveDue()
  if isReady and LOCKS[command.kind] then LOCKS[command.kind](command, raw) end
  if endedSessions[1] then
    dropBegins(endedSessions)
    endedSessions = {}
  end
  isReady = serveBegunDue() and isReady
  if isReady and RECORDS[command.kind] then RECORDS[command.kind](command, raw) end
  return isReady
end

-- When somebody must call again. What ended is forgotten in groups, by the minute: late, it only costs room.
local function nextDeadline()
  if isOver() then return now end
  local least = space.quarantine
  local function consider(due)
    if due and (not least or due < least) then least = due end
  end
  for _, name in ipairs({ DUE, BEGUN_DUE }) do consider(tonumber(call('ZRANGE', name, 0, 0, 'WITHSCORES')[2])) end
  local leases = call('ZRANGE', PROCESSES, 0, 1, 'WITHSCORES')
  for i = 1, #leases, 2 do
    if leases[i] ~= me then consider(tonumber(leases[i + 1])) end
  end
  local forgetAt = tonumber(call('ZRANGE', FORGET, 0, 0, 'WITHSCORES')[2])
  consider(forgetAt and math.ceil(forgetAt / 60000) * 60000)
  return least
end

-- Carries the commands out, unless that was done already, and says how many of them.
local function serveCommands(own)
  local latest = call('HMGET', own, 'batch', 'served')
  if latest[1] and head.batch <= tonumber(latest[1]) then
    step({ kind = 'tick' })
    return tonumber(latest[2])
  end
  local served = 0
  if #ARGV == 1 then step({ kind = 'tick' }) end
  for i = 2, #ARGV do
    if not step(cjson.decode(ARGV[i]), ARGV[i]) then break end
    served = served + 1
  end
  call('HSET', own, 'batch', num(head.batch), 'served', served)
  return served
end

local function join(own)
  call('HSET', own, 'channel', head.join.channel, 'letter', 0)
  call('ZADD', PROCESSES, 0, me)
end

loadSpace()
local own = at('p:' .. me)
-- First of all it turns out who is over; what is due about records comes with the first command, as in an engine.
serveDue()
forgetSome(#ARGV == 1 and 1000 or 16)
local served = 0
local isKnown = call('ZSCORE', PROCESSES, me) ~= false
if not isKnown and head.join then
  join(own)
  isKnown = true
end
if isKnown then
  call('ZADD', PROCESSES, num(now + (settings.leaseMs or ${FLEET_DEFAULTS.leaseMs})), me)
  served = serveCommands(own)
  if head.leave and served == #ARGV - 1 then
    call('ZADD', PROCESSES, num(now), me)
    isDue = true
    step({ kind = 'tick' })
  end
else
  step({ kind = 'tick' })
end
sendLetters()
saveClaims()
saveBegins()
saveSpace()

local last, mail = 0, {}
if isKnown then last, mail = openMail(head.read) end
for i, letter in ipairs(mail) do mail[i] = quote(letter) end
return json({
  standing = isKnown and 'known' or 'unknown', served = served, last = last, letters = listOf(mail), now = now,
  next = nextDeadline(), epoch = space.epoch,
  counts = {
    keys = call('HLEN', LATCHES), sessions = call('HLEN', SESSIONS), processes = call('ZCARD', PROCESSES),
  },
})
`;
