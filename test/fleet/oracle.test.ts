import { describe, expect, it } from "vitest";
import type { Effect, RefusalCode } from "../../src/core/index.ts";
import type { LedgerLimitName } from "../../src/core/idempotency/limits.ts";
import type { LimitName } from "../../src/core/limits.ts";
import { Coverage } from "../simulation/coverage.ts";
import { hasRedisServer } from "./support/redis-server.ts";
import { runnerOfSuite } from "./support/suite-runner.ts";
import { writeStory } from "./support/stories.ts";
import { tellAlone } from "./support/tell-alone.ts";

const SEEDS = 200;
const BATCH = 20;
/** Each thing that can be told is told so often at least. */
const RARE_MIN = 20;

/** `SEED=7 npx vitest run test/fleet/oracle.test.ts` tells one story alone; `STEPS=2500` longer ones. */
const { SEED } = process.env;
const STEPS = Number(process.env["STEPS"] ?? 400);
const firsts = SEED === undefined ? Array.from({ length: SEEDS / BATCH }, (_, i) => 1 + i * BATCH) : [Number(SEED)];

describe.skipIf(!hasRedisServer())("the script does what the engine does", () => {
  const script = runnerOfSuite();

  const coverage = new Coverage();

  it.each(firsts)(`${SEED === undefined ? BATCH : 1} seeds from %i`, async (first) => {
    for (let seed = first; seed < first + (SEED === undefined ? BATCH : 1); seed++) {
      const story = writeStory(seed, STEPS);
      for (const { effects } of story.steps) coverage.addEffects(effects);
      await tellAlone(script.runner, story);
    }
  });

  it.skipIf(SEED !== undefined)("the stories were about everything that an engine tells", () => {
    const rare = expectedCoverage().filter((name) => (coverage.counts.get(name) ?? 0) < RARE_MIN);
    expect(rare).toEqual([]);
  });
});

/** By the names that Coverage gives. The types make sure that nothing new is left out. */
function expectedCoverage(): readonly string[] {
  const effects: Record<Effect["kind"], true> = {
    opened: true,
    resumed: true,
    session_ended: true,
    queued: true,
    granted: true,
    ended: true,
    lost: true,
    extended: true,
    released: true,
    asked: true,
    revoked: true,
    status: true,
    list: true,
    refused: true,
    started: true,
    replay: true,
    in_progress: true,
    attempt_queued: true,
    completed: true,
    failed: true,
    attempt_extended: true,
    forgotten: true,
    attempt_lost: true,
    record_status: true,
  };
  // Redis that cannot say what it has fails the whole call.
  const refusals: Record<Exclude<RefusalCode, "unavailable">, true> = {
    limit: true,
    limit_mismatch: true,
    depth_limit: true,
    request_mismatch: true,
    unknown_token: true,
    session_ended: true,
    not_waiting: true,
    shared_holders: true,
    fingerprint_mismatch: true,
    result_mismatch: true,
  };
  // Redis is full as a whole, not of records.
  const limits: Record<Exclude<LimitName | LedgerLimitName, "records">, true> = {
    keys: true,
    waiters_per_key: true,
    claims_per_session: true,
    caller_claims: true,
    sessions: true,
    begins: true,
    waiters_per_record: true,
    begins_per_session: true,
  };
  return [
    ...Object.keys(effects).map((kind) => `effect ${kind}`),
    ...Object.keys(refusals).map((code) => `refused ${code}`),
    ...Object.keys(limits).map((limit) => `limit ${limit}`),
  ];
}
