/**
 * Lua: the tables of idempotency records, and the moves that their rules are made of: a begin waits, an attempt starts, an attempt ends.
 *
 * rec:<key>   text  the record                       begun      hash  order → state, new line, the begin as it came
 * res:<key>   text  its result                       b:<from>   hash  request id → order of a begin that lives
 * bq:<key>    zset  orders of begins that wait       bdue       zset  deadline → begin
 *
 * Records that rest are left to Redis' own expiry. It may be late, so that their time is looked at all the same.
 */

export const LEDGER: string = String.raw`
local BEGUN = at('begun')
local EXPIRY_SLACK_MS = 1000

local function attemptsQueueOf(key)
  return base .. ':bq:' .. key
end

local function beginsOf(from)
  return base .. ':b:' .. from
end

-- What there is under a key: a record that runs or rests, or nil.
local function recordOf(key)
  local text = call('GET', base .. ':rec:' .. key)
  local record = text and cjson.decode(text) or nil
  if record and record.expiresAt and record.expiresAt <= now then return nil end
  return record
end

local function removeRecord(key)
  call('DEL', base .. ':rec:' .. key, base .. ':res:' .. key)
end

local function saveRecord(record, result)
  local rec, res = base .. ':rec:' .. record.key, base .. ':res:' .. record.key
  local expiry = {}
  if record.expiresAt and not extras.now then
    expiry = { 'PX', num(math.ceil(record.expiresAt - now) + EXPIRY_SLACK_MS) }
  end
  call('SET', rec, json(record), unpack(expiry))
  if result then call('SET', res, result, unpack(expiry)) end
end

local begins, changedBegins = {}, {}

local function begunOf(id)
  local begun = begins[id]
  if begun == nil then
    local text = call('HGET', BEGUN, id)
    if not text then return nil end
    local cut = string.find(text, '\n', 1, true)
    begun = cjson.decode(string.sub(text, 1, cut - 1))
    begun.raw = string.sub(text, cut + 1)
    begun.asked = cjson.decode(begun.raw)
    begun.id = id
    begins[id] = begun
  end
  return begun
end

local function saveBegun(begun)
  changedBegins[begun.id] = begun
end

local function saveBegins()
  for id, begun in pairs(changedBegins) do
    local text = json({
      deadline = begun.deadline, leaseMs = begun.leaseMs, process = begun.process, isOrphan = begun.isOrphan,
    })
    call('HSET', BEGUN, id, text .. '\n' .. begun.raw)
  end
end

local function findBegin(from, request)
  local id = call('HGET', beginsOf(from), request)
  return id and begunOf(id) or nil
end

local function admit(command, raw)
  space.orders = space.orders + 1
  space.begins = space.begins + 1
  local begun = { id = num(space.orders), asked = command, raw = raw, leaseMs = command.leaseMs, process = me }
  begins[begun.id] = begun
  saveBegun(begun)
  call('HSET', beginsOf(command.from), command.request, begun.id)
  return begun
end

local function routeOfBegin(begun)
  local session = begun.asked.session and sessionOf(begun.asked.from)
  return session and session.process or begun.process
end

local function setBegunDeadline(begun, deadline)
  begun.deadline = deadline
  call('ZADD', tables.bdue, num(deadline), pad(tonumber(begun.id)))
  space.begunDueAt = nil
  saveBegun(begun)
end

local function adoptBegin(begun)
  if not begun.isOrphan then return end
  begun.isOrphan = nil
  call('ZREM', tables.bdue, pad(tonumber(begun.id)) .. 'o')
  space.begunDueAt = nil
end

local function leaveQueue(begun)
  call('ZREM', attemptsQueueOf(begun.asked.key), begun.id)
  if not begun.asked.session then call('SREM', at('pw:' .. begun.process), 'b' .. begun.id) end
end

-- The begin, in no queue, is out of all tables.
local function endBegin(begun)
  work = work + 1
  space.begins = space.begins - 1
  adoptBegin(begun)
  call('ZREM', tables.bdue, pad(tonumber(begun.id)))
  space.begunDueAt = nil
  call('HDEL', beginsOf(begun.asked.from), begun.asked.request)
  call('HDEL', BEGUN, begun.id)
  begins[begun.id] = nil
  changedBegins[begun.id] = nil
end

local function tellStarted(process, record, begun)
  tell(process, {
    kind = 'started', to = begun.asked.from, request = begun.asked.request, key = begun.asked.key,
    attempt = begun.asked.newAttempt, number = record.attempts, leaseMs = begun.leaseMs, expiresAt = begun.deadline,
  })
end

local function tellInProgress(process, asked, running)
  tell(process, {
    kind = 'in_progress', to = asked.from, request = asked.request, key = asked.key,
    retryAfterMs = running and math.max(0, running.deadline - now) or 0,
  })
end

local function tellReplay(process, asked, record, result)
  tell(process, {
    kind = 'replay', to = asked.from, request = asked.request, key = asked.key,
    result = resultIndex(process, result), contentType = record.contentType, number = record.attempts,
  })
end

local function startAttempt(record, begun)
  record.state = 'running'
  record.attempts = record.attempts + 1
  record.attempt = begun.asked.newAttempt
  record.running = begun.id
  record.startedAt = now
  record.expiresAt, record.lostBy = nil, nil
  setBegunDeadline(begun, now + begun.asked.leaseMs)
  begun.leaseMs = begun.asked.leaseMs
  saveRecord(record)
  tellStarted(routeOfBegin(begun), record, begun)
end

-- Nothing runs any more: the first who waits starts the next attempt, unless its time was over before now. When nobody waits
-- the record rests: idle after a loss, else it is gone.
local function pass(record, lost, by)
  local queue = attemptsQueueOf(record.key)
  while true do
    local id = call('ZRANGE', queue, 0, 0)[1]
    if not id then break end
    local begun = begunOf(id)
    leaveQueue(begun)
    if begun.deadline >= now then return startAttempt(record, begun) end
    endBegin(begun)
    tellInProgress(routeOfBegin(begun), begun.asked, nil)
  end
  if lost and record.startedAt + lost.asked.ttlMs > now then
    record.state, record.running, record.lostBy = 'idle', nil, by
    record.expiresAt = record.startedAt + lost.asked.ttlMs
    return saveRecord(record)
  end
  removeRecord(record.key)
end

-- A session hears at once what became of its attempt; a caller hears it when it next speaks.
local function tellOwner(begun, reason)
  if not begun.asked.session then return end
  tell(routeOfBegin(begun), {
    kind = 'attempt_lost', to = begun.asked.from, request = begun.asked.request, key = begun.asked.key, reason = reason,
  })
end

local function loseAttempt(record, begun, by)
  endBegin(begun)
  if by ~= 'dropped' then tellOwner(begun, by) end
  pass(record, begun, by)
end
`;
