/** Lua: what can be done with a claim by who holds its token, by who asked for it, and by an operator; and the questions. */

export const HOLDING: string = String.raw`
function LOCKS.extend(command)
  local claim = findToken(command.token, command.key)
  if not claim then return refuse(command, 'unknown_token') end
  if claim.state == 'gone' then return tellLost(command, claim) end
  claim.ttlMs = command.ttlMs
  setClaimDeadline(claim, now + command.ttlMs)
  save(claim)
  answer({
    kind = 'extended', to = command.from, request = command.request, key = command.key, token = command.token,
    fence = claim.fence, ttlMs = command.ttlMs, expiresAt = claim.deadline,
  })
end

local function tellReleased(command, depth, already)
  answer({
    kind = 'released', to = command.from, request = command.request, key = command.key,
    depth = depth, already = already,
  })
end

function LOCKS.release(command)
  local claim = findToken(command.token, command.key)
  if not claim then return refuse(command, 'unknown_token') end
  if claim.state == 'gone' then
    if claim.outcome == 'released' or claim.outcome == 'cancelled' then return tellReleased(command, 0, true) end
    return tellLost(command, claim)
  end
  local before = claim.unnested
  if before and before.request == command.request and before.from == command.from then
    return tellReleased(command, before.depth, true)
  end
  if claim.depth > 1 then
    claim.depth = claim.depth - 1
    claim.unnested = { from = command.from, request = command.request, depth = claim.depth }
    save(claim)
    return tellReleased(command, claim.depth, false)
  end
  finish(claim, 'released', command.from ~= claim.asked.from and whoDid(command.from) or nil)
  -- The next holder is told first: it waits for the key, who let go only for a word.
  promote(command.key)
  tellReleased(command, 0, false)
end

-- A cancel that crossed the grant releases: whoever cancelled does not want the key any more.
function LOCKS.cancel(command)
  local claim = findRequest(command.from, command.request)
  if not claim or claim.state == 'gone' then return end
  -- Who asked last for it is still there, even when an earlier one hung up.
  if routeOf(claim) ~= me then return end
  if command.forget then claim.abandoned = true end
  finish(claim, 'cancelled')
  promote(claim.asked.key)
end

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

local function statusOf(key, told)
  local holders = {}
  for i, id in ipairs(call('ZRANGE', holdersOf(key), 0, -1)) do holders[i] = holderOf(id) end
  told.key = key
  told.holders = listOf(holders)
  told.waiting = call('ZCARD', queueOf(key))
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
