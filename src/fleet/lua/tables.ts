/**
 * Lua: the tables of a space, and how a call reads and writes them. Below the space's key, each name after a colon:
 *
 * (the key itself)  hash    epoch, now, serial, …             claims       hash  ticket → state, new line, the acquire as it came
 * sessions          hash    id → session                      tokens       hash  token → ticket
 * latches           hash    live key → limit or ''            keys         zset  live keys, by bytes
 * h:<key>           zset    fence → ticket of a holder        q:<key>      zset  ticket of a waiter
 * a:<key>           zset    ticket of a waiter that asks
 * r:<from>          hash    request id → ticket               live:<id>    zset  tickets of a session's live claims
 * due               zset    deadline → whose                  un:<id>      zset  its remembered claims that were never granted
 * ended             zset    order of end → ticket             forget       zset  when → ticket
 * pending           list    keys whose queue is still to be looked at
 * processes         zset    lease end → process               p:<process>  hash  its latest batch and letter
 * mail:<process>    list    its letters                       ps:<process> zset  order → session
 * pw:<process>      set     its waiting callers              pg:<process> zset  letter → caller's claim that was granted in it
 */

export const TABLES: string = String.raw`
for _, name in ipairs({ 'claims', 'sessions', 'tokens', 'latches', 'keys', 'ended', 'forget', 'pending' }) do tables[name] = at(name) end

local function limitOf(name)
  local _, last = string.find(limitsText, ' ' .. name .. '=', 1, true)
  return last and tonumber(string.match(limitsText, '^%d+', last + 1)) or math.huge
end

local function nextSerial()
  local serial = space.serial + 1
  if not extras.serialStart then
    serial = math.max(serial, math.min(math.floor(now * 1000), 4503599627370496))
  end
  space.serial = serial
  return serial
end

-- Keys of which a status may say something else after this call; noted only while somebody watches.
local changedKeys = {}

local function noteChanged(key)
  if space.watched then changedKeys[key] = true end
end

local function isQuarantined()
  return space.quarantine ~= nil and now < space.quarantine
end

-- Claims that this call has seen, by ticket; false: there is none. They are written once, when the call ends.
local claims, changedClaims = {}, {}
local CLAIM_NUMBERS = { 'deadline', 'fence', 'grantedAt', 'ttlMs', 'forgetAt' }
local CLAIM_RARITIES = { 'owner', 'outcome', 'by', 'nested', 'unnested', 'ask', 'abandoned', 'isOrphan' }

local function claimOf(id)
  local claim = claims[id]
  if claim == nil then
    local text = call('HGET', tables.claims, id)
    if text then
      local cut = string.find(text, '\n', 1, true)
      claim = cjson.decode(string.sub(text, 1, cut - 1))
      claim.raw = string.sub(text, cut + 1)
      claim.asked = cjson.decode(claim.raw)
      claim.id = id
      claim.ticket = tonumber(id)
    end
    claims[id] = claim or false
  end
  return claim or nil
end

local function newClaim(command, raw, owner)
  local ticket = nextSerial()
  local claim = {
    id = num(ticket), ticket = ticket, asked = command, raw = raw, state = 'waiting', ttlMs = command.ttlMs,
    depth = 0, owner = owner and owner.id, process = me,
  }
  claims[claim.id] = claim
  return claim
end

local function save(claim)
  changedClaims[claim.id] = claim
end

local function removeClaim(claim)
  claims[claim.id] = false
  changedClaims[claim.id] = nil
  call('HDEL', tables.claims, claim.id)
end

local function claimText(claim)
  local text = string.format('{"state":"%s","process":%s,"depth":%d', claim.state, quote(claim.process), claim.depth)
  for _, name in ipairs(CLAIM_NUMBERS) do
    if claim[name] then text = string.format('%s,"%s":%.17g', text, name, claim[name]) end
  end
  for _, name in ipairs(CLAIM_RARITIES) do
    if claim[name] then text = text .. ',"' .. name .. '":' .. json(claim[name]) end
  end
  return text .. '}\n' .. claim.raw
end

local function saveClaims()
  local fields = {}
  for id, claim in pairs(changedClaims) do
    fields[#fields + 1] = id
    fields[#fields + 1] = claimText(claim)
    -- Lua unpacks no more than some thousands.
    if #fields == 1000 then
      call('HSET', tables.claims, unpack(fields))
      fields = {}
    end
  end
  if fields[1] then call('HSET', tables.claims, unpack(fields)) end
end

local sessions = {}

local function sessionOf(id)
  local session = sessions[id]
  if session == nil then
    local text = call('HGET', tables.sessions, id)
    if text then
      session = cjson.decode(text)
      session.id = id
    end
    sessions[id] = session or false
  end
  return session or nil
end

local function saveSession(session)
  sessions[session.id] = session
  call('HSET', tables.sessions, session.id, json({
    secret = session.secret, graceMs = session.graceMs, meta = session.meta, user = session.user, order = session.order,
    deadline = session.deadline, process = session.process,
  }))
end

-- A claim and a session have one deadline each, or none.
local function setDeadline(item, order, name, deadline)
  if deadline == nil and item.deadline == nil then return end
  if deadline == nil then call('ZREM', tables.due, pad(order) .. name)
  else
    call('ZADD', tables.due, num(deadline), pad(order) .. name)
    if deadline <= now then isDue = true end
  end
  space.dueAt = nil
  item.deadline = deadline
end

local function setClaimDeadline(claim, deadline)
  setDeadline(claim, claim.ticket, 'c', deadline)
end

local function setSessionDeadline(session, deadline)
  setDeadline(session, session.order, 's' .. session.id, deadline)
end

-- The limit of a live key: a number, or '' for none; false when the key is not live.
local latches = {}

local function latchOf(key)
  local limit = latches[key]
  if limit == nil then
    limit = call('HGET', tables.latches, key)
    if limit then limit = tonumber(limit) or '' end
    latches[key] = limit
  end
  return limit
end

local function openLatch(key, limit)
  latches[key] = limit or ''
  call('HSET', tables.latches, key, limit and num(limit) or '')
  call('ZADD', tables.keys, 0, key)
end

-- The key's queue is looked at before anything else is served, by the next call.
local function postpone(key)
  space.pending = call('RPUSH', tables.pending, key)
end

local function holdersOf(key)
  return base .. ':h:' .. key
end

local function queueOf(key)
  return base .. ':q:' .. key
end

-- Those in the queue that ask for the key.
local function askingOf(key)
  return base .. ':a:' .. key
end

local function closeLatchIfFree(key)
  if latchOf(key) == false or call('EXISTS', holdersOf(key), queueOf(key)) > 0 then return end
  latches[key] = false
  call('HDEL', tables.latches, key)
  call('ZREM', tables.keys, key)
end

local function requestsOf(from)
  return base .. ':r:' .. from
end
`;
