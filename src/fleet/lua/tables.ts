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
 * pw:<process>      set     its waiting callers
 */

import { DEFAULT_LEDGER_LIMITS, DEFAULT_LIMITS } from "../../core/index.ts";
import { FLEET_DEFAULTS } from "../script.ts";

const DEFAULTS = Object.entries({ ...DEFAULT_LIMITS, ...DEFAULT_LEDGER_LIMITS })
  .map(([name, max]) => `${name} = ${max}`)
  .join(", ");

export const TABLES: string = String.raw`
local base = KEYS[1]
local head = cjson.decode(ARGV[1])
local me = head.process
local settings = head.settings or {}
local limits = settings.limits or {}
local DEFAULTS = { ${DEFAULTS} }
local workMax = settings.workMax or ${FLEET_DEFAULTS.workMax}

local function limitOf(name)
  local limit = limits[name] or DEFAULTS[name]
  -- Infinity has no text in JSON.
  return type(limit) == 'number' and limit or math.huge
end

local function at(name)
  return base .. ':' .. name
end

local CLAIMS, SESSIONS, TOKENS, LATCHES = at('claims'), at('sessions'), at('tokens'), at('latches')
local KEYSET, DUE, ENDED, FORGET, PROCESSES = at('keys'), at('due'), at('ended'), at('forget'), at('processes')
local PENDING, BEGUN_DUE = at('pending'), at('bdue')

-- The space's own fields. Numbers of tickets, fences and orders follow the clock in microseconds, so that they rise even when
-- Redis has lost its latest writes; they run ahead of it only beyond a million numbers a second.
local space, now
-- What was to be forgotten up to here is forgotten, whether or not it is still there: first what earlier calls saw, then what is due.
local forgottenBy
local work = 0
-- Whether something may be due that was not there when what is due was last served.
local isDue = true

local function nextSerial()
  local serial = space.serial + 1
  if not settings.serialStart then
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

local function isOver()
  return work >= workMax
end

local NUMBERS = { 'now', 'serial', 'ends', 'orders', 'begins', 'callers', 'pending', 'quarantine', 'idle', 'watched', 'touches' }

local function loadSpace()
  local found = call('HMGET', base, 'epoch', unpack(NUMBERS))
  space = { epoch = found[1] or nil }
  for i, name in ipairs(NUMBERS) do space[name] = tonumber(found[i + 1] or nil) end
  space.wasQuarantined = space.quarantine ~= nil
  now = head.now
  if not now then
    local time = call('TIME')
    now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
  end
  if space.now and space.now > now then now = space.now end
  if head.watch then space.watched = now + (settings.leaseMs or ${FLEET_DEFAULTS.leaseMs})
  elseif space.watched and space.watched <= now then
    space.watched, space.touches = nil, nil
    call('HDEL', base, 'watched', 'touches')
  end
  forgottenBy = space.now or now
  space.now = now
  if space.epoch then return end
  space.serial, space.ends, space.orders = settings.serialStart or 0, 0, 0
  space.begins, space.callers, space.pending = 0, 0, 0
  space.epoch = num(math.floor(now * 1000))
  if (settings.quarantineMs or 0) > 0 then space.quarantine = now + settings.quarantineMs end
  call('HSET', base, 'epoch', space.epoch)
end

local function saveSpace()
  local fields = {}
  for _, name in ipairs(NUMBERS) do
    if space[name] then
      fields[#fields + 1] = name
      fields[#fields + 1] = num(space[name])
    end
  end
  call('HSET', base, unpack(fields))
  if space.wasQuarantined and not space.quarantine then call('HDEL', base, 'quarantine') end
end

-- Claims that this call has seen, by ticket; false: there is none. They are written once, when the call ends.
local claims, changedClaims = {}, {}
local CLAIM_FIELDS = {
  'state', 'deadline', 'fence', 'grantedAt', 'ttlMs', 'depth', 'outcome', 'by', 'nested', 'unnested',
  'ask', 'abandoned', 'owner', 'process', 'isOrphan', 'forgetAt',
}

local function claimOf(id)
  local claim = claims[id]
  if claim == nil then
    local text = call('HGET', CLAIMS, id)
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
  call('HDEL', CLAIMS, claim.id)
end

local function saveClaims()
  for id, claim in pairs(changedClaims) do
    local parts = {}
    for _, name in ipairs(CLAIM_FIELDS) do
      local value = claim[name]
      if value ~= nil then parts[#parts + 1] = '"' .. name .. '":' .. json(value) end
    end
    call('HSET', CLAIMS, id, '{' .. table.concat(parts, ',') .. '}\n' .. claim.raw)
  end
end

local sessions = {}

local function sessionOf(id)
  local session = sessions[id]
  if session == nil then
    local text = call('HGET', SESSIONS, id)
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
  call('HSET', SESSIONS, session.id, json({
    secret = session.secret, graceMs = session.graceMs, meta = session.meta, user = session.user, order = session.order,
    deadline = session.deadline, process = session.process,
  }))
end

-- A claim and a session have one deadline each, or none.
local function setDeadline(item, member, deadline)
  if deadline == nil then
    if item.deadline ~= nil then call('ZREM', DUE, member) end
  else
    call('ZADD', DUE, num(deadline), member)
    if deadline <= now then isDue = true end
  end
  item.deadline = deadline
end

local function setClaimDeadline(claim, deadline)
  setDeadline(claim, pad(claim.ticket) .. 'c', deadline)
end

local function setSessionDeadline(session, deadline)
  setDeadline(session, pad(session.order) .. 's' .. session.id, deadline)
end

-- The limit of a live key: a number, or '' for none; false when the key is not live.
local latches = {}

local function latchOf(key)
  local limit = latches[key]
  if limit == nil then
    limit = call('HGET', LATCHES, key)
    if limit then limit = tonumber(limit) or '' end
    latches[key] = limit
  end
  return limit
end

local function openLatch(key, limit)
  latches[key] = limit or ''
  call('HSET', LATCHES, key, limit and num(limit) or '')
  call('ZADD', KEYSET, 0, key)
end

-- The key's queue is looked at before anything else is served, by the next call.
local function postpone(key)
  space.pending = call('RPUSH', PENDING, key)
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
  call('HDEL', LATCHES, key)
  call('ZREM', KEYSET, key)
end

local function requestsOf(from)
  return base .. ':r:' .. from
end
`;
