/** Lua: what an operator asks and does: who holds what, and out with them. */

import { ASKS_TOLD_MAX, QUEUE_TOLD_MAX } from "../../core/limits.ts";

export const READS: string = String.raw`
function LOCKS.revoke_key(command)
  local by = whoDid(command.from, nil, command.message)
  local holders = call('ZRANGE', holdersOf(command.key), 0, -1)
  for _, id in ipairs(holders) do finish(claimOf(id), 'revoked', by) end
  answer({ kind = 'revoked', to = command.from, request = command.request, count = #holders })
  promote(command.key)
end

local function holderOf(id)
  local claim = claimOf(id)
  local owner = claim.owner and sessionOf(claim.owner)
  return json({
    session = owner and owner.id, user = owner and owner.user, mode = claim.asked.mode, fence = claim.fence, since = claim.grantedAt,
    expiresAt = claim.deadline, meta = claim.asked.meta or (owner and owner.meta),
  })
end

local function askOf(id)
  local claim = claimOf(id)
  local owner = claim.owner and sessionOf(claim.owner)
  return json({
    session = owner and owner.id, user = owner and owner.user, message = claim.ask.message, since = claim.ask.since,
    meta = claim.asked.meta or (owner and owner.meta),
  })
end

-- Of the sessions that are asked about, those that wait, in queue order.
local function placesOf(key, of, waiting)
  if not of or waiting == 0 then return nil end
  local places = {}
  for _, session in ipairs(of) do
    local first = call('ZINTER', 2, queueOf(key), at('live:' .. session))[1]
    if first then places[#places + 1] = { session = session, position = call('ZRANK', queueOf(key), first) + 1 } end
  end
  table.sort(places, function(a, b) return a.position < b.position end)
  return places[1] and places or nil
end

-- The first of those who wait.
local function queueTold(key)
  local waiting = {}
  for i, id in ipairs(call('ZRANGE', queueOf(key), 0, ${QUEUE_TOLD_MAX} - 1)) do
    local claim = claimOf(id)
    local owner = claim.owner and sessionOf(claim.owner)
    waiting[i] = json({ session = owner and owner.id, mode = claim.asked.mode })
  end
  return listOf(waiting)
end

local function statusOf(key, told, of)
  local holders = {}
  for i, id in ipairs(call('ZRANGE', holdersOf(key), 0, -1)) do holders[i] = holderOf(id) end
  told.key = key
  told.holders = listOf(holders)
  told.waiting = call('ZCARD', queueOf(key))
  local asks = {}
  for i, id in ipairs(call('ZRANGE', askingOf(key), 0, ${ASKS_TOLD_MAX - 1})) do asks[i] = askOf(id) end
  if asks[1] then told.asks = listOf(asks) end
  local limit = latchOf(key)
  if limit ~= false and limit ~= '' then told.limit = limit end
  told.places = placesOf(key, of, told.waiting)
  return told
end

function LOCKS.status(command)
  answer(statusOf(command.key, { kind = 'status', to = command.from, request = command.request }, command.of))
end

-- By bytes. Lua's own comparison goes by the locale of the server.
local function isBefore(a, b)
  for i = 1, math.min(#a, #b) do
    local left, right = string.byte(a, i), string.byte(b, i)
    if left ~= right then return left < right end
  end
  return #a < #b
end

function LOCKS.list(command)
  local prefix, after = command.prefix, command.after
  local from = prefix == '' and '-' or '[' .. prefix
  if after and not isBefore(after, prefix) then from = '(' .. after end
  -- No text has a byte that is 255.
  local keys = call('ZRANGEBYLEX', tables.keys, from, prefix == '' and '+' or '(' .. prefix .. '\255', 'LIMIT', 0, command.countMax + 1)
  local page = {}
  for i = 1, math.min(#keys, command.countMax) do
    -- Large pages come one in a call: Redis does nothing else meanwhile.
    work = work + 1
    page[i] = json(statusOf(keys[i], { queue = command.queue and queueTold(keys[i]) or nil }, command.of))
  end
  answer({
    kind = 'list', to = command.from, request = command.request, keys = listOf(page), more = #keys > command.countMax,
  })
end
`;
