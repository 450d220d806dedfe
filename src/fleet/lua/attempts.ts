/** Lua: what a begin comes to, what can be done with an attempt's token, and how attempts end without it. */

export const ATTEMPTS: string = String.raw`
local SAME_BEGIN = { 'key', 'fingerprint', 'ttlMs', 'leaseMs', 'waitMs', 'session' }

local function isSameBegin(a, b)
  for _, name in ipairs(SAME_BEGIN) do
    if a[name] ~= b[name] then return false end
  end
  return true
end

local function tellAttemptQueued(begun)
  answer({
    kind = 'attempt_queued', to = begun.asked.from, request = begun.asked.request, key = begun.asked.key,
    position = call('ZRANK', attemptsQueueOf(begun.asked.key), begun.id) + 1,
  })
end

local function watchBegin(begun, isWaiting)
  if begun.asked.session then return end
  if begun.process ~= me then
    call('SREM', at('pw:' .. begun.process), 'b' .. begun.id)
    begun.process = me
  end
  if isWaiting then call('SADD', at('pw:' .. me), 'b' .. begun.id) end
  adoptBegin(begun)
  saveBegun(begun)
end

local function repeatBegin(begun, command)
  if not isSameBegin(begun.asked, command) then return refuse(command, 'request_mismatch') end
  local record = recordOf(command.key)
  local isRunning = record.running == begun.id
  watchBegin(begun, not isRunning)
  if isRunning then tellStarted(me, record, begun) else tellAttemptQueued(begun) end
end

local function beginLimitInTheWay(command)
  local own = command.session and call('HLEN', beginsOf(command.from)) or 0
  if own >= limitOf('beginsPerSessionMax') then return 'begins_per_session' end
  if space.begins >= limitOf('beginsMax') then return 'begins' end
end

local function joinQueue(command, raw, record)
  if command.waitMs == 0 then return tellInProgress(me, command, begunOf(record.running)) end
  local inTheWay = beginLimitInTheWay(command)
  if inTheWay then return refuseLimit(command, inTheWay) end
  local queue = attemptsQueueOf(command.key)
  if call('ZCARD', queue) >= limitOf('waitersPerRecordMax') then return refuseLimit(command, 'waiters_per_record') end
  local begun = admit(command, raw)
  call('ZADD', queue, begun.id, begun.id)
  setBegunDeadline(begun, now + command.waitMs)
  watchBegin(begun, true)
  tellAttemptQueued(begun)
end

function RECORDS.begin(command, raw)
  local known = findBegin(command.from, command.request)
  if known then return repeatBegin(known, command) end
  if command.session and not speaker(command.from) then return refuse(command, 'session_ended') end
  local record = recordOf(command.key)
  -- Before anything is said about progress: another payload must not be told to come back later.
  if record and record.fingerprint ~= command.fingerprint then return refuse(command, 'fingerprint_mismatch') end
  if record and record.state == 'running' then return joinQueue(command, raw, record) end
  if record and record.state == 'done' then
    return tellReplay(me, command, record, call('GET', base .. ':res:' .. command.key))
  end
  local inTheWay = beginLimitInTheWay(command)
  if inTheWay then return refuseLimit(command, inTheWay) end
  record = record or { key = command.key, fingerprint = command.fingerprint, attempts = 0 }
  startAttempt(record, admit(command, raw))
end

local function lossOf(record, attempt)
  if not record then return 'unknown' end
  if record.state == 'running' or record.attempt ~= attempt then return 'superseded' end
  return record.lostBy or 'completed'
end

local function tellAttemptLost(command, record)
  answer({
    kind = 'attempt_lost', to = command.from, request = command.request, key = command.key,
    reason = lossOf(record, command.attempt),
  })
end

local function isRunBy(record, attempt)
  return record ~= nil and record.state == 'running' and record.attempt == attempt
end

local function isDoneBy(record, attempt)
  return record ~= nil and record.state == 'done' and record.attempt == attempt
end

-- Those who wait hear the result first, in order.
local function finishRecord(record, command)
  local begun = begunOf(record.running)
  endBegin(begun)
  record.state, record.running = 'done', nil
  record.ttlMs = begun.asked.ttlMs
  record.expiresAt = now + begun.asked.ttlMs
  record.contentType, record.resultBytes = command.contentType, command.resultBytes
  for _, id in ipairs(call('ZRANGE', attemptsQueueOf(record.key), 0, -1)) do
    local waiting = begunOf(id)
    leaveQueue(waiting)
    endBegin(waiting)
    tellReplay(routeOfBegin(waiting), waiting.asked, record, command.result)
  end
  saveRecord(record, command.result)
end

function RECORDS.complete(command)
  local record = recordOf(command.key)
  local told = { kind = 'completed', to = command.from, request = command.request, key = command.key }
  if isRunBy(record, command.attempt) then finishRecord(record, command)
  elseif not isDoneBy(record, command.attempt) then return tellAttemptLost(command, record)
  else
    local isSame = record.contentType == command.contentType
      and call('GET', base .. ':res:' .. command.key) == command.result
    if not isSame then return refuse(command, 'result_mismatch') end
    told.already = true
  end
  answer(told)
end

local function tellFailed(command, key)
  answer({ kind = 'failed', to = command.from, request = command.request, key = key })
end

function RECORDS.fail(command)
  local record = recordOf(command.key)
  if not isRunBy(record, command.attempt) then return tellAttemptLost(command, record) end
  endBegin(begunOf(record.running))
  pass(record)
  tellFailed(command, command.key)
end

function RECORDS.extend_attempt(command)
  local record = recordOf(command.key)
  if not isRunBy(record, command.attempt) then return tellAttemptLost(command, record) end
  local begun = begunOf(record.running)
  begun.leaseMs = command.leaseMs
  setBegunDeadline(begun, now + command.leaseMs)
  answer({
    kind = 'attempt_extended', to = command.from, request = command.request, key = command.key,
    leaseMs = command.leaseMs, expiresAt = begun.deadline,
  })
end

function RECORDS.forget(command)
  local attempt = command.attempt
  local isReadable, record = pcall(recordOf, command.key)
  -- An operator need not know what it was. Whose it was nobody can tell.
  if not isReadable and attempt then error(record, 0) end
  if not isReadable then record = {} end
  if record and attempt and not isRunBy(record, attempt) and not isDoneBy(record, attempt) then
    return tellAttemptLost(command, record)
  end
  if record and record.state == 'running' then
    -- Whoever waits begins anew: the record never was.
    local begun = begunOf(record.running)
    endBegin(begun)
    if not attempt then tellOwner(begun, 'forgotten') end
    record.attempts = 0
    pass(record)
  elseif record then
    removeRecord(command.key)
  end
  answer({
    kind = 'forgotten', to = command.from, request = command.request, key = command.key, existed = record ~= nil,
  })
end

function RECORDS.record_status(command)
  local record = recordOf(command.key)
  local told = { kind = 'record_status', to = command.from, request = command.request, key = command.key }
  if record then
    local isRunning = record.state == 'running'
    told.record = {
      state = record.state, attempts = record.attempts, waiting = call('ZCARD', attemptsQueueOf(command.key)),
      leaseUntil = isRunning and begunOf(record.running).deadline or nil, expiresAt = record.expiresAt,
      contentType = record.contentType, resultBytes = record.resultBytes,
    }
  end
  answer(told)
end

-- The record of a begin that lives; nil when it cannot be read, or is gone, since somebody has laid hands on it: that is nobody
-- else's matter, and whoever asks for its key hears it.
local function recordOfBegun(begun)
  local isReadable, record = pcall(recordOf, begun.asked.key)
  return isReadable and record or nil
end

-- A begin that does not run leaves: it has waited, or its record is not what it was. Whether it has waited.
local function leaveAll(begun)
  local hasWaited = call('ZSCORE', attemptsQueueOf(begun.asked.key), begun.id)
  leaveQueue(begun)
  endBegin(begun)
  return hasWaited
end

function RECORDS.cancel_begin(command)
  local begun = findBegin(command.from, command.request)
  if not begun or routeOfBegin(begun) ~= me then return end
  local record = recordOfBegun(begun)
  if not record or record.running ~= begun.id then
    if leaveAll(begun) then return tellInProgress(me, begun.asked, record and record.running and begunOf(record.running)) end
  else
    endBegin(begun)
    pass(record)
  end
  tellFailed(command, begun.asked.key)
end

-- A deadline is reached: a wait is over, or a lease; or nobody came back for it.
local function serveBegun(member)
  local begun = begunOf(num(tonumber(string.sub(member, 1, 16))))
  local record = recordOfBegun(begun)
  local isRunning = record and record.running == begun.id
  if isRunning and #member == 16 then return loseAttempt(record, begun, 'expired') end
  if isRunning then
    endBegin(begun)
    return pass(record)
  end
  if not leaveAll(begun) then return tellOwner(begun, 'expired') end
  tellInProgress(routeOfBegin(begun), begun.asked, record and record.running and begunOf(record.running))
end

-- Whether all is done.
local function serveBegunDue()
  while firstBegunDue() <= now do
    if isOver() then return false end
    serveBegun(call('ZRANGE', tables.bdue, 0, 0)[1])
  end
  return true
end

-- These sessions are over. All their waits go first: an attempt of one must not pass to another.
local function dropBegins(ids)
  local lost = {}
  for _, from in ipairs(ids) do
    local own = call('HVALS', beginsOf(from))
    table.sort(own, function(a, b) return tonumber(a) < tonumber(b) end)
    for _, id in ipairs(own) do
      local begun = begunOf(id)
      local record = recordOfBegun(begun)
      if record and record.running == id then lost[#lost + 1] = begun
      else
        leaveQueue(begun)
        endBegin(begun)
      end
    end
  end
  for _, begun in ipairs(lost) do loseAttempt(recordOf(begun.asked.key), begun, 'dropped') end
end
`;
