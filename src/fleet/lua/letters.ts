/** Lua: who is told what. Effects gather by process and leave in one letter each when the call ends. */

/** A larger letter is not published: Upstash cuts streamed messages at 1 MB, and the mailbox has it anyway. */
const PUBLISHED_MAX = 64 * 1024;

export const LETTERS: string = String.raw`
-- What serves each kind of command: about locks, and about idempotency records. Parts that few calls need add theirs when opened.
local LOCKS, RECORDS = {}, {}
-- The sessions that this step has ended, in the order told: their begins end with them.
local endedSessions = {}

local letters, addressees = {}, {}

local function letterOf(process)
  local letter = letters[process]
  if letter == nil then
    letter = { results = {}, indexes = {} }
    letters[process] = letter
    addressees[#addressees + 1] = process
  end
  return letter
end

local function tell(process, effect)
  local letter = letterOf(process)
  letter[#letter + 1] = json(effect)
end

-- The same result stands in a letter once, however many hear it.
local function resultIndex(process, result)
  local letter = letterOf(process)
  if letter.indexes[result] == nil then
    letter.indexes[result] = #letter.results
    letter.results[#letter.results + 1] = quote(result)
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

local function textOf(letter)
  local text = '{"effects":[' .. table.concat(letter, ',') .. ']'
  if #letter.results > 0 then text = text .. ',"results":[' .. table.concat(letter.results, ',') .. ']' end
  return text .. '}'
end

local function publish(process, channel, number, text)
  local wake = '{"space":' .. quote(head.space) .. ',"process":' .. quote(process) .. ',"number":' .. num(number)
  if #text <= ${PUBLISHED_MAX} then wake = wake .. ',"letter":' .. quote(text) end
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

-- Nothing is kept for a process that is over: nobody would ever read it.
local function sendLetters()
  for _, process in ipairs(addressees) do
    local channel = process ~= me and call('HGET', at('p:' .. process), 'channel')
    if channel then
      local text = textOf(letters[process])
      local number = call('HINCRBY', at('p:' .. process), 'letter', 1)
      call('RPUSH', at('mail:' .. process), text)
      publish(process, channel, number, text)
    end
  end
end

-- Deletes what was read, adds what this call has for its own process, and returns all that it has not read.
local function exchangeMail(own)
  local mail = at('mail:' .. me)
  local unread = own.letter - head.read
  local texts = {}
  if unread > 0 then
    texts = call('LRANGE', mail, -unread, -1)
    call('LTRIM', mail, -unread, -1)
  elseif own.letter > 0 then
    call('DEL', mail)
  end
  if letters[me] then
    local text = textOf(letters[me])
    own.letter = own.letter + 1
    call('RPUSH', mail, text)
    texts[#texts + 1] = text
  end
  return texts
end
`;
