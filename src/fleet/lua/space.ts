/**
 * Lua: what each call begins and ends with, whatever it is about: its arguments, the space's own fields, and what is due. With nothing
 * due and no commands this and `main.ts` are all that runs.
 */

import { FLEET_DEFAULTS } from "../script.ts";

export const SPACE: string = String.raw`
local base = KEYS[1]
local me, batch, read, leaseMs, limitsText = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
-- What few calls have: join, leave, now, and settings other than the usual ones.
local extras = ARGV[6] == '' and {} or cjson.decode(ARGV[6])
local COMMANDS_BEFORE = 6
local commandCount = #ARGV - COMMANDS_BEFORE
local workMax = extras.workMax or ${FLEET_DEFAULTS.workMax}

local function at(name)
  return base .. ':' .. name
end

-- By the names that tables.ts explains.
local tables = { due = at('due'), bdue = at('bdue'), processes = at('processes') }

-- The space's own fields. Numbers of tickets, fences and orders follow the clock in microseconds, so that they rise even when
-- Redis has lost its latest writes; they run ahead of it only beyond a million numbers a second. Beside them, for this call:
-- forgottenBy: what was to be forgotten up to here is forgotten, whether or not it is still there: first what earlier calls saw, then what is due.
-- leases: whose leases end first, with when.
-- dueAt, begunDueAt: when the first deadlines are, of claims and sessions and of begins; nil, it has to be looked up.
local space, now
local work = 0
-- Whether something may be due that was not there when what is due was last served.
local isDue = true

local function isOver()
  return work >= workMax
end

-- remembered: how many that ended. forgetAt: nothing is to be forgotten before it.
local NUMBERS = {
  'now', 'serial', 'ends', 'remembered', 'forgetAt', 'callers', 'orders', 'begins', 'pending', 'quarantine', 'idle',
  'watched', 'touches',
}

local function beginSpace()
  space.serial, space.ends, space.orders = extras.serialStart or 0, 0, 0
  space.begins, space.callers, space.pending, space.remembered = 0, 0, 0, 0
  space.forgetAt = math.huge
  space.epoch = num(math.floor(now * 1000))
  if (extras.quarantineMs or 0) > 0 then space.quarantine = now + extras.quarantineMs end
  call('HSET', base, 'epoch', space.epoch)
end

local function loadSpace()
  local found = call('HMGET', base, 'epoch', unpack(NUMBERS))
  space = { epoch = found[1] or nil, was = {} }
  for i, name in ipairs(NUMBERS) do
    local value = tonumber(found[i + 1] or nil)
    space[name], space.was[name] = value, value
  end
  now = extras.now
  if not now then
    local time = call('TIME')
    now = time[1] * 1000 + time[2] / 1000
  end
  if space.now and space.now > now then now = space.now end
  space.forgottenBy = space.now or now
  space.now = now
  if extras.watch then space.watched = now + leaseMs
  elseif space.watched and space.watched <= now then
    space.watched, space.touches = nil, nil
    call('HDEL', base, 'watched', 'touches')
  end
  if not space.epoch then beginSpace() end
end

local function saveSpace()
  local fields = {}
  for _, name in ipairs(NUMBERS) do
    local value = space[name]
    if value and value ~= space.was[name] then
      fields[#fields + 1] = name
      fields[#fields + 1] = num(value)
    end
  end
  if fields[1] then call('HSET', base, unpack(fields)) end
  if space.was.quarantine and not space.quarantine then call('HDEL', base, 'quarantine') end
end

local function firstDue()
  space.dueAt = space.dueAt or tonumber(call('ZRANGE', tables.due, 0, 0, 'WITHSCORES')[2]) or math.huge
  return space.dueAt
end

local function firstBegunDue()
  space.begunDueAt = space.begunDueAt or tonumber(call('ZRANGE', tables.bdue, 0, 0, 'WITHSCORES')[2]) or math.huge
  return space.begunDueAt
end

local function firstLeases()
  space.leases = call('ZRANGE', tables.processes, 0, 1, 'WITHSCORES')
  local leaseEnd = space.leases[2]
  return leaseEnd and tonumber(leaseEnd) or math.huge
end

-- Whether nothing is left to do. Of records the ledger knows.
local function isNothingDue()
  local quarantine = space.quarantine or math.huge
  if space.pending > 0 or quarantine <= now or firstLeases() <= now or firstDue() <= now then return false end
  isDue = false
  space.forgottenBy = now
  return true
end
`;
