/** Lua: what goes between who waits and who holds: a waiter asks for the key, a holder hands it over. */

export const ASKING: string = String.raw`
-- The same words again change nothing, so that a repeat does not count as a fresh ask.
function LOCKS.ask(command)
  local claim = findRequest(command.from, command.claim)
  -- What another process still sends for it is from before.
  if not claim or claim.state ~= 'waiting' or routeOf(claim) ~= me then return refuse(command, 'not_waiting') end
  local isSame = claim.ask and claim.ask.message == command.message
  if command.withdraw then
    if claim.ask then
      askNoMore(claim)
      noteChanged(claim.asked.key)
    end
  elseif not isSame then
    noteChanged(claim.asked.key)
    claim.ask = { message = command.message, since = now }
    call('ZADD', askingOf(claim.asked.key), num(claim.ticket), claim.id)
  end
  save(claim)
  answer({ kind = 'asked', to = command.from, request = command.request })
end

-- A release that names who is next. Whether that can be is known before anything is changed: else the lock is kept.
function LOCKS.hand(command)
  local key = command.key
  local claim = findToken(command.token, key)
  if not claim then return refuse(command, 'unknown_token') end
  if claim.state == 'gone' then return answerGone(command, claim) end
  -- The session's live claims that are in the queue, by ticket.
  local first = call('ZINTER', 2, queueOf(key), at('live:' .. command.to))[1]
  local heir = first and claimOf(first)
  if not heir then return refuse(command, 'not_waiting') end
  -- A shared heir of a shared holder takes its place among the others, so that no limit is passed.
  local isBarred = heir.asked.mode == 'exclusive' and call('ZCARD', holdersOf(key)) > 1
  if isBarred or isQuarantined() then return refuse(command, 'shared_holders') end
  finish(claim, 'released', command.from ~= claim.asked.from and whoDid(command.from) or nil)
  dequeue(heir)
  grant(heir)
  promote(key)
  tellReleased(command, 0, false)
end
`;
