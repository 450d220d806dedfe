/** Lua: what becomes of a space that nobody uses any more. */

/** So long its numbers, its epoch and what it remembers are kept: longer than anything has to be remembered. */
const IDLE_MS = 72 * 3_600_000;

/** A space that remembers more than this is left as it is: looking it through would take too long. */
const REMEMBERED_MAX = 1000;

export const IDLE: string = String.raw`
local function rememberedKeys(ended)
  local keys, seen = { base, tables.claims, tables.tokens, tables.ended, tables.forget }, {}
  for _, id in ipairs(ended) do
    local claim = claimOf(id)
    local requests = requestsOf(claim.asked.from)
    if not seen[requests] then
      seen[requests] = true
      keys[#keys + 1] = requests
    end
  end
  return keys
end

-- Nobody will call to forget things. Nothing is lost with the numbers: new ones go on from the clock.
local function expireIfIdle()
  if space.begins > 0 or call('EXISTS', tables.latches, tables.sessions, tables.processes) > 0 then return end
  local ended = call('ZRANGE', tables.ended, 0, ${REMEMBERED_MAX})
  if #ended > ${REMEMBERED_MAX} then return end
  for _, key in ipairs(rememberedKeys(ended)) do call('PEXPIRE', key, ${IDLE_MS}) end
  space.idle = 1
end

local function awaken()
  for _, key in ipairs(rememberedKeys(call('ZRANGE', tables.ended, 0, ${REMEMBERED_MAX}))) do call('PERSIST', key) end
  call('HDEL', base, 'idle')
  space.idle = nil
end
`;
