/** Lua: what an operator asks and does: who holds what, and out with them. */

import { ASKS_TOLD_MAX } from "../../core/limits.ts";

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
    session = owner and owner.id, mode = claim.asked.mode, fence = claim.fence, since = claim.grantedAt,
    expiresAt = claim.deadline, meta = claim.asked.meta or (owner and owner.meta),
  })
end

local function askOf(id)
  local claim = claimOf(id)
  local owner = claim.owner and sessionOf(claim.owner)
  return json({
    session = owner and owner.id, message = claim.ask.message, since = claim.ask.since,
    meta = claim.asked.meta or (owner and owner.meta),
  })
end

local function statusOf(key, told)
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
  return told
end

function LOCKS.status(command)
  answer(statusOf(command.key, { kind = 'status', to = command.from, request = command.request }))
end

function LOCKS.list(command)
  local prefix, after = command.prefix, command.after
  local from = prefix == '' and '-' or '[' .. prefix
  if after and not isBefore(after, prefix) then from = '(' .. after end
  -- No text has a byte that is 255.
  local keys = call('ZRANGEBYLEX', KEYSET, from, prefix == '' and '+' or '(' .. prefix .. '\255', 'LIMIT', 0, command.countMax + 1)
  local page = {}
  for i = 1, math.min(#keys, command.countMax) do page[i] = json(statusOf(keys[i], {})) end
  answer({
    kind = 'list', to = command.from, request = command.request, keys = listOf(page), more = #keys > command.countMax,
  })
end
`;
