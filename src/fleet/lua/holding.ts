/** Lua: what can be done with a claim by who holds its token, and by who asked for it. */

export const HOLDING: string = String.raw`
function LOCKS.extend(command)
  local claim = findToken(command.token, command.key)
  if not claim then return refuse(command, 'unknown_token') end
  if claim.state == 'gone' then return tellLost(command, claim) end
  claim.ttlMs = command.ttlMs
  setClaimDeadline(claim, now + command.ttlMs)
  noteChanged(command.key)
  save(claim)
  answer({
    kind = 'extended', to = command.from, request = command.request, key = command.key, token = command.token,
    fence = claim.fence, ttlMs = command.ttlMs, expiresAt = claim.deadline,
  })
end

local function tellReleased(command, depth, already)
  answer(string.format(
    '{"kind":"released"%s,"depth":%d,"already":%s}', addressed(command.from, command.request, command.key), depth, tostring(already)
  ))
end

-- To let go once more what its owner let go is no loss.
local function answerGone(command, claim)
  if claim.outcome == 'released' or claim.outcome == 'cancelled' then return tellReleased(command, 0, true) end
  tellLost(command, claim)
end

function LOCKS.release(command)
  local claim = findToken(command.token, command.key)
  if not claim then return refuse(command, 'unknown_token') end
  if claim.state == 'gone' then return answerGone(command, claim) end
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
`;
