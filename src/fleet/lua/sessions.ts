/** Lua: how sessions begin, change their connection, and end with all that they hold. */

export const SESSIONS: string = String.raw`
function LOCKS.open(command)
  local known = sessionOf(command.session)
  -- Ids are minted, so this is the same opening once more.
  if known then return answer({ kind = 'opened', to = command.session }) end
  if call('HLEN', tables.sessions) >= limitOf('sessionsMax') then
    return answer({ kind = 'refused', to = command.session, request = '', code = 'limit', limit = 'sessions' })
  end
  local session = {
    id = command.session, secret = command.secret, graceMs = command.graceMs, meta = command.meta,
    user = command.user, order = nextSerial(), process = me,
  }
  saveSession(session)
  call('ZADD', at('ps:' .. me), num(session.order), session.id)
  answer({ kind = 'opened', to = session.id })
end

local function snapshotOf(claim)
  local told = {
    request = claim.asked.request, key = claim.asked.key, state = claim.state, mode = claim.asked.mode,
    ticket = claim.ticket,
  }
  if claim.state == 'waiting' then told.position = call('ZRANK', queueOf(told.key), claim.id) + 1
  elseif claim.state == 'gone' then told.outcome = claim.outcome
  else
    told.token, told.fence, told.depth = claim.asked.newToken, claim.fence, claim.depth
    told.ttlMs = claim.ttlMs
    told.expiresAt = claim.ttlMs and claim.deadline
  end
  return json(told)
end

-- All that its request ids lead to, by ticket.
local function snapshot(session)
  local found, parts = {}, {}
  for _, id in ipairs(call('HVALS', requestsOf(session.id))) do
    local claim = unlessForgotten(claimOf(id))
    if claim then found[#found + 1] = claim end
  end
  table.sort(found, function(a, b) return a.ticket < b.ticket end)
  for i, claim in ipairs(found) do parts[i] = snapshotOf(claim) end
  return listOf(parts)
end

function LOCKS.resume(command)
  local session = sessionOf(command.session)
  -- One answer for both mistakes, so that nobody learns which ids exist.
  if not session or session.secret ~= command.secret then
    return answer({ kind = 'refused', to = command.session, request = '', code = 'session_ended' })
  end
  setSessionDeadline(session, nil)
  if session.process ~= me then
    call('ZREM', at('ps:' .. session.process), session.id)
    call('ZADD', at('ps:' .. me), num(session.order), session.id)
    tell(session.process, { kind = 'moved', to = session.id })
    session.process = me
  end
  saveSession(session)
  answer({ kind = 'resumed', to = session.id, graceMs = session.graceMs, claims = snapshot(session) })
end

-- A kept lock goes on without its session.
local function detach(claim)
  claim.process = routeOf(claim)
  forgetRequest(claim)
  countLive(claim, -1)
  claim.owner = nil
  noteChanged(claim.asked.key)
  save(claim)
end

local function touch(touched, key)
  if touched[key] then return end
  touched[key] = true
  touched[#touched + 1] = key
end

local function endWaiting(session, outcome, touched, by)
  session.isEnding = true
  for _, id in ipairs(call('ZRANGE', at('live:' .. session.id), 0, -1)) do
    local claim = claimOf(id)
    if claim.state == 'waiting' then
      finish(claim, outcome, by)
      touch(touched, claim.asked.key)
    end
  end
end

local function endHoldings(session, outcome, touched, isRevoked, by)
  for _, id in ipairs(call('ZRANGE', at('live:' .. session.id), 0, -1)) do
    local claim = claimOf(id)
    if claim.asked.keep and not isRevoked then detach(claim)
    else
      finish(claim, outcome, by)
      touch(touched, claim.asked.key)
    end
  end
end

local function closeSession(session, reason, message)
  local id = session.id
  for _, ungranted in ipairs(call('ZRANGE', at('un:' .. id), 0, -1)) do forget(claimOf(ungranted)) end
  call('UNLINK', requestsOf(id), at('un:' .. id), at('live:' .. id))
  setSessionDeadline(session, nil)
  call('ZREM', at('ps:' .. session.process), id)
  call('HDEL', tables.sessions, id)
  sessions[id] = false
  tell(session.process, { kind = 'session_ended', to = id, reason = reason, message = message })
  endedSessions[#endedSessions + 1] = id
end

-- Waiting claims leave first, then the holdings end: the other way round a key could be handed to the very session
-- that is leaving. Returns the keys to look at, in the order of first touch.
local function endSession(session, waiting, holding, reason, message, by)
  local touched = {}
  endWaiting(session, waiting, touched, by)
  endHoldings(session, holding, touched, reason == 'revoked', by)
  closeSession(session, reason, message)
  return touched
end

-- The connection is gone for good.
local function lose(session)
  promoteKeys(endSession(session, 'dropped', 'dropped', 'dropped'))
end

function LOCKS.drop(command)
  local session = speaker(command.session)
  if not session then return end
  if session.graceMs == 0 then return lose(session) end
  if session.deadline then return end
  setSessionDeadline(session, now + session.graceMs)
  saveSession(session)
end

function LOCKS.bye(command)
  local session = speaker(command.session)
  if session then promoteKeys(endSession(session, 'cancelled', 'released', 'bye')) end
end

function LOCKS.revoke_session(command)
  local session = sessionOf(command.session)
  local told = { kind = 'revoked', to = command.from, request = command.request, count = 0 }
  if not session then return answer(told) end
  told.count = call('ZCARD', at('live:' .. session.id))
  local by = whoDid(command.from, nil, command.message)
  local touched = endSession(session, 'revoked', 'revoked', 'revoked', command.message, by)
  answer(told)
  promoteKeys(touched)
end
`;
