import type { LuaMutant } from "./mutant.ts";

/** Bugs of idempotency records. */
export const RECORD_MUTANTS: readonly LuaMutant[] = [
  {
    bug: "another payload is told to come back later",
    find: `if record and record.fingerprint ~= command.fingerprint then return refuse(command, 'fingerprint_mismatch') end`,
    replace: ``,
  },
  {
    bug: "an attempt that is lost is not followed by another",
    find: `if begun.deadline >= now then return startAttempt(record, begun) end`,
    replace: `if begun.deadline >= now then saveRecord(record) end`,
  },
  {
    bug: "a second attempt has the number of the first",
    find: `record.attempts = record.attempts + 1`,
    replace: `record.attempts = math.max(record.attempts, 1)`,
  },
  {
    bug: "whoever waits does not hear the result",
    find: `    tellReplay(routeOfBegin(waiting), waiting.asked, record, command.result)\n`,
    replace: ``,
  },
  {
    bug: "a lost attempt completes all the same",
    find: `return record ~= nil and record.state == 'running' and record.attempt == attempt`,
    replace: `return record ~= nil and record.state == 'running'`,
  },
  {
    bug: "another result replaces the first",
    find: `if not isSame then return refuse(command, 'result_mismatch') end`,
    replace: ``,
  },
  {
    bug: "a record is there when its time is over",
    find: `if record and record.expiresAt and record.expiresAt <= now then return nil end`,
    replace: ``,
  },
  {
    bug: "an attempt of a session outlives it",
    find: `if endedSessions[1] then records.dropBegins(endedSessions) end`,
    replace: ``,
  },
  {
    bug: "a failed attempt leaves its record",
    find: `  endBegin(begunOf(record.running))\n  pass(record)\n  tellFailed(command, command.key)`,
    replace: `  local begun = begunOf(record.running)\n  endBegin(begun)\n  pass(record, begun)\n  tellFailed(command, command.key)`,
  },
];
