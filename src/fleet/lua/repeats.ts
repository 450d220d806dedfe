/** Lua: what is asked for again: the same request, and a key by whoever holds it. */

import { NEST_MEMORY_MAX } from "../../core/limits.ts";

export const REPEATS: string = String.raw`
local SAME = { 'key', 'mode', 'limit', 'timeoutMs', 'ttlMs', 'token', 'meta', 'message', 'session' }
local SAME_FLAGS = { 'nest', 'steal', 'keep' }

local function isSameRequest(a, b)
  for _, name in ipairs(SAME) do
    if a[name] ~= b[name] then return false end
  end
  for _, name in ipairs(SAME_FLAGS) do
    if (a[name] or false) ~= (b[name] or false) then return false end
  end
  return true
end

-- The same request again: the answer was lost, or it crossed. It is the same claim, so it gets that claim's answer.
local function repeatAcquire(claim, command)
  if not isSameRequest(claim.asked, command) then return refuse(command, 'request_mismatch') end
  watch(claim)
  if claim.state == 'waiting' then return tellQueued(claim) end
  if claim.state == 'holding' then
    return tellGranted(me, claim, command.from, command.request, false, claim.depth)
  end
  answer({
    kind = 'ended', to = command.from, request = command.request, key = command.key,
    outcome = claim.outcome, held = claim.fence ~= nil, again = true, by = claim.by,
  })
end

local function findNest(claim, command)
  for _, nest in ipairs(claim.nested or {}) do
    if nest.request == command.request and nest.from == command.from then return nest end
  end
end

local function rememberNest(claim, command)
  claim.nested = claim.nested or {}
  table.insert(claim.nested, { from = command.from, request = command.request, depth = claim.depth })
  if #claim.nested > ${NEST_MEMORY_MAX} then table.remove(claim.nested, 1) end
end

local function reenter(command)
  local claim = findToken(command.token, command.key)
  if not claim or claim.state == 'gone' then return tellLost(command, claim) end
  if command.nest then
    local before = findNest(claim, command)
    if before then return tellGranted(me, claim, command.from, command.request, true, before.depth) end
    if claim.depth >= limitOf('depthMax') then return refuse(command, 'depth_limit') end
    claim.depth = claim.depth + 1
    rememberNest(claim, command)
  end
  -- A claim without a deadline has its session as lease: nothing is longer.
  if claim.deadline and command.ttlMs and now + command.ttlMs > claim.deadline then
    claim.ttlMs = command.ttlMs
    setClaimDeadline(claim, now + command.ttlMs)
    noteChanged(command.key)
  end
  save(claim)
  tellGranted(me, claim, command.from, command.request, true, claim.depth)
end
`;
