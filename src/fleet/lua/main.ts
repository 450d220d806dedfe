/** Lua: one call, from its arguments to its answer. */

import { FLEET_DEFAULTS } from "../script.ts";

export const MAIN: string = String.raw`
local PARTS = {
  open = life, resume = life, drop = life, bye = life, revoke_session = life,
  ask = asking, hand = asking, status = reads, list = reads, revoke_key = reads,
}

function LOCKS.tick() end

-- Whether it was served: what is due comes first, and may be too much for one call.
local function step(command, raw)
  local kind = command.kind
  if PARTS[kind] then PARTS[kind]() end
  local isReady = serveDue()
  if isReady and LOCKS[kind] then LOCKS[kind](command, raw) end
  if space.begins > 0 or not LOCKS[kind] then
    local records = ledger()
    if endedSessions[1] then records.dropBegins(endedSessions) end
    isReady = records.serveBegunDue() and isReady
    if isReady and RECORDS[kind] then RECORDS[kind](command, raw) end
  end
  endedSessions = {}
  return isReady
end

-- When somebody must call again. What ended is forgotten in groups, by the minute: late, it only costs room.
local function nextDeadline(forgetAt)
  if isOver() or space.pending > 0 then return now end
  local least = space.quarantine
  local function consider(due)
    if due and (not least or due < least) then least = due end
  end
  consider(tonumber(call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2]))
  if space.begins > 0 then consider(tonumber(call('ZRANGE', BEGUN_DUE, 0, 0, 'WITHSCORES')[2])) end
  for i = 1, #leases, 2 do
    if leases[i] ~= me then consider(tonumber(leases[i + 1])) end
  end
  consider(forgetAt and math.ceil(forgetAt / 60000) * 60000)
  return least
end

-- Carries the commands out, unless that was done already.
local function serveCommands(own)
  if own.batch and head.batch <= own.batch then return step({ kind = 'tick' }) end
  own.batch, own.served = head.batch, 0
  if #ARGV == 1 then step({ kind = 'tick' }) end
  for i = 2, #ARGV do
    if isOver() or not step(cjson.decode(ARGV[i]), ARGV[i]) then break end
    own.served = own.served + 1
  end
end

-- What there is about this process; nil when nobody knows it.
local function findOwn()
  local own = { key = at('p:' .. me), served = 0, letter = 0 }
  local leaseEnd = tonumber(call('ZSCORE', PROCESSES, me) or nil)
  -- One whose end has only begun is over all the same.
  if leaseEnd and leaseEnd <= now then return nil end
  if leaseEnd then
    local found = call('HMGET', own.key, 'batch', 'served', 'letter')
    own.batch, own.served, own.letter = tonumber(found[1] or nil), tonumber(found[2] or 0), tonumber(found[3] or 0)
  elseif head.join then
    call('HSET', own.key, 'channel', head.join.channel)
    if space.idle then idle().awaken() end
  else
    return nil
  end
  call('ZADD', PROCESSES, num(now + (settings.leaseMs or ${FLEET_DEFAULTS.leaseMs})), me)
  return own
end

-- As if the lease ended now.
local function leave()
  call('ZADD', PROCESSES, num(now), me)
  isDue = true
  step({ kind = 'tick' })
end

loadSpace()
-- First of all it turns out who is over; what is due about records comes with the first command, as in an engine.
serveDue()
local forgetAt = forgetSome(#ARGV == 1 and 1000 or 16)
local own = findOwn()
if own then serveCommands(own) else step({ kind = 'tick' }) end
local isLeaving = own ~= nil and head.leave and own.served == #ARGV - 1
local mail = {}
if own then
  mail = exchangeMail(own)
  if not isLeaving then call('HSET', own.key, 'batch', num(own.batch), 'served', own.served, 'letter', num(own.letter)) end
end
if isLeaving then leave() end
sendLetters()
publishTouched()
saveClaims()
if openedLedger then openedLedger.saveBegins() end
if isLeaving and not head.now then idle().expireIfIdle() end
saveSpace()

for i, text in ipairs(mail) do mail[i] = quote(text) end
return json({
  standing = own and 'known' or 'unknown', served = own and own.served or 0, last = own and own.letter or 0,
  letters = listOf(mail), now = now, next = nextDeadline(forgetAt), epoch = space.epoch,
  touches = head.watch and (space.touches or 0) or nil,
  counts = {
    keys = call('HLEN', LATCHES), claims = call('HLEN', CLAIMS), sessions = call('HLEN', SESSIONS),
    processes = call('ZCARD', PROCESSES),
  },
})
`;
