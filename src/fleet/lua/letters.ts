/** Lua: who is told what. Effects gather by process and leave in one letter each when the call ends. */

/** A larger letter is not published: Upstash cuts streamed messages at 1 MB, and the mailbox has it anyway. */
const PUBLISHED_MAX = 64 * 1024;

/** A result counts as much as so many moves: a call stops after 8 MiB of them. */
const RESULT_BYTES_A_MOVE = 16 * 1024;

export const LETTERS: string = String.raw`
-- What serves each kind of command: about locks, and about idempotency records. Parts that few calls need add theirs when opened.
local LOCKS, RECORDS = {}, {}
-- The sessions that this step has ended, in the order told: their begins end with them.
local endedSessions = {}

local letters, addressees = {}, {}

local function letterOf(process)
  local letter = letters[process]
  if letter == nil then
    letter = { results = {}, indexes = {}, granted = {} }
    letters[process] = letter
    addressees[#addressees + 1] = process
  end
  return letter
end

-- An effect, or its text.
local function tell(process, effect)
  local letter = letterOf(process)
  letter[#letter + 1] = type(effect) == 'string' and effect or json(effect)
end

-- How the text of an effect goes on after its kind, where most calls tell it.
local function addressed(to, request, key)
  return ',"to":' .. quote(to) .. ',"request":' .. quote(request) .. ',"key":' .. quote(key)
end

-- The same result stands in a letter once, however many hear it.
local function resultIndex(process, result)
  local letter = letterOf(process)
  if letter.indexes[result] == nil then
    letter.indexes[result] = #letter.results
    letter.results[#letter.results + 1] = quote(result)
    -- So that an answer has some mebibytes of them at most.
    work = work + math.floor(#result / ${RESULT_BYTES_A_MOVE})
  end
  return letter.indexes[result]
end

-- Answers go to whoever sent the command.
local function answer(effect)
  tell(me, effect)
end

local function refuse(command, code, limit)
  answer({ kind = 'refused', to = command.from, request = command.request, code = code, key = command.key, limit = limit })
end

local function refuseLimit(command, limit)
  refuse(command, 'limit', limit)
end

local function tellLost(command, claim)
  answer({
    kind = 'lost', to = command.from, request = command.request, key = command.key,
    reason = claim and claim.outcome or 'unknown', by = claim and claim.by,
  })
end

local function whoDid(from, meta, message)
  local session = sessionOf(from)
  return { session = session and session.id, meta = meta or (session and session.meta), message = message }
end

-- A session speaks through the process that it is connected to: what another one still sends for it is from before.
local function speaker(from)
  local session = sessionOf(from)
  return session and session.process == me and session or nil
end

local function textOf(letter)
  local text = '{"effects":[' .. table.concat(letter, ',') .. ']'
  if #letter.results > 0 then text = text .. ',"results":[' .. table.concat(letter.results, ',') .. ']' end
  if letter.granted[1] then text = text .. ',"unheard":true' end
  return text .. '}'
end

local function publish(process, channel, number, text)
  local wake = '{"process":' .. quote(process) .. ',"number":' .. num(number)
  if #text <= ${PUBLISHED_MAX} then wake = wake .. ',"letter":' .. text end
  call('PUBLISH', channel, wake .. '}')
end

-- Whichever servers watch hear it, by the number of all such messages.
local function publishTouched()
  if not next(changedKeys) then return end
  space.touches = (space.touches or 0) + 1
  local keys = {}
  for key in pairs(changedKeys) do keys[#keys + 1] = quote(key) end
  local text = table.concat(keys, ',')
  local message = '{"number":' .. num(space.touches)
  if #text <= ${PUBLISHED_MAX} then message = message .. ',"keys":[' .. text .. ']' end
  call('PUBLISH', at('touched'), message .. '}')
end

-- Until the process says that it has the letter, nobody has heard of these grants.
local function keepGranted(process, number, ids)
  for _, id in ipairs(ids) do call('ZADD', at('pg:' .. process), number, id) end
  call('HSET', at('p:' .. process), 'granted', number)
end

-- Nothing is kept for a process that is over: nobody would ever read it.
local function sendLetters()
  for _, process in ipairs(addressees) do
    local channel = process ~= me and call('HGET', at('p:' .. process), 'channel')
    if channel then
      local text = textOf(letters[process])
      local number = call('HINCRBY', at('p:' .. process), 'letter', 1)
      call('RPUSH', at('mail:' .. process), text)
      if letters[process].granted[1] then keepGranted(process, number, letters[process].granted) end
      publish(process, channel, number, text)
    end
  end
end

-- What this call has for its own process, if anything.
local function ownLetter()
  return letters[me] and textOf(letters[me])
end
`;
