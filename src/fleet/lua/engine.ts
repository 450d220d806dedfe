/** Lua: one command after the other, as an engine takes them. */

export const ENGINE: string = String.raw`
local PARTS = {
  acquire = acquiring, extend = holding, release = holding, cancel = holding, ask = holding, hand = holding,
  open = life, resume = life, drop = life, bye = life, revoke_session = life,
  status = reads, list = reads, revoke_key = reads,
}

function LOCKS.tick() end

-- Whether all is done.
local function serveDue()
  return not isDue and space.pending == 0 or due().serve()
end

-- Whether it was served: what is due comes first, and may be too much for one call.
local function step(command, raw)
  local kind = command.kind
  if PARTS[kind] then PARTS[kind]() end
  local isReady = serveDue()
  if isReady and LOCKS[kind] then LOCKS[kind](command, raw) end
  if space.begins > 0 or not LOCKS[kind] then
    local records = ledger()
    if endedSessions[1] then records.dropBegins(endedSessions) end
    isReady = records.serveBegunDue() and isReady
    if isReady and RECORDS[kind] then RECORDS[kind](command, raw) end
  end
  endedSessions = {}
  return isReady
end

-- As if the lease ended now.
local function leave()
  call('ZADD', tables.processes, num(now), me)
  isDue = true
  step({ kind = 'tick' })
end

-- What the call has brought about is told, and written.
local function finishCall()
  sendLetters()
  publishTouched()
  saveClaims()
  if openedLedger then openedLedger.saveBegins() end
end

return {
  step = step, serveDue = serveDue, forgetSome = forgetSome, leave = leave, ownLetter = ownLetter,
  finishCall = finishCall, idle = idle,
}
`;
