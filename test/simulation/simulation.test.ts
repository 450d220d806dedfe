import { describe, expect, it } from "vitest";
import type { Effect, RefusalCode } from "../../src/core/effect.ts";
import type { Outcome } from "../../src/core/lifecycle.ts";
import type { LedgerLimitName } from "../../src/core/idempotency/limits.ts";
import type { LossReason } from "../../src/core/idempotency/effect.ts";
import type { RecordState } from "../../src/core/idempotency/record.ts";
import type { LimitName } from "../../src/core/limits.ts";
import { Coverage } from "./coverage.ts";
import { Auditor } from "./invariants.ts";
import { drawOptions } from "./options.ts";
import type { Deed, LedgerDeed, Pace, WorldOptions } from "./options.ts";
import { Random } from "./random.ts";
import { SEED_REGRESSIONS, STORY_REGRESSIONS } from "./regressions.ts";
import type { SeedRegression, StoryRegression } from "./regressions.ts";
import { Server } from "./server.ts";
import { Store } from "./store.ts";
import { simulate } from "./world.ts";

const SEEDS = 300;
const STEPS = 2500;
const BATCH = 25;

describe("the engine does what the model predicts, and every promise holds", () => {
  const coverage = new Coverage();
  const batches = Array.from({ length: SEEDS / BATCH }, (_, i) => 1 + i * BATCH);

  it.each(batches)(`${BATCH} seeds from %i`, (first) => {
    for (let seed = first; seed < first + BATCH; seed++) {
      coverage.addAll(simulate(drawOptions(seed, STEPS)).coverage);
    }
  });

  it("the worlds were about everything that they are meant to be about", () => {
    const rare = Object.entries(expectedCoverage()).filter(([name, min]) => (coverage.counts.get(name) ?? 0) < min);
    expect(rare).toEqual([]);
  });
});

describe("the auditor needs no model", () => {
  it("finds nothing wrong with the engine alone", () => {
    for (let seed = 1; seed <= 20; seed++) simulate(drawOptions(seed, 1000, "auditor"));
  });
});

describe("seeds", () => {
  it("one seed always tells the same story, another seed another one", () => {
    const hashes = [1, 2, 1].map((seed) => simulate(drawOptions(seed, 500)).hash);
    expect(hashes[2]).toBe(hashes[0]);
    expect(hashes[1]).not.toBe(hashes[0]);
  });
});

describe("what once went wrong", () => {
  it.each(SEED_REGRESSIONS.map((regression) => [regression.why, regression] as const))("%s", (_why, regression) => {
    simulate(optionsOf(regression));
  });

  it.each(STORY_REGRESSIONS.map((regression) => [regression.why, regression] as const))("%s", (_why, regression) => {
    tell(regression);
  });
});

function optionsOf({ seed, steps, options, limits, deeds }: SeedRegression): WorldOptions {
  const drawn = drawOptions(seed, steps);
  // These were found before there were records, or anybody asked or handed over.
  return {
    ...drawn,
    ledger: 0,
    ...options,
    limits: { ...drawn.limits, ...limits },
    deeds: { ...drawn.deeds, ask: 0, askNoMore: 0, showAsks: 0, hand: 0, handAstray: 0, repeatHand: 0, ...deeds },
  };
}

/** Every step is compared with the model, as in a world. */
function tell({ story, limits }: StoryRegression): void {
  const drawn = drawOptions(1, 0);
  const wide = { ...drawn.limits, sessionsMax: 10, callerClaimsMax: 10, claimsPerSessionMax: 10, endedMax: 100 };
  const options: WorldOptions = { ...drawn, persist: "outliving", quarantineMs: 0, limits: { ...wide, ...limits } };
  const random = new Random(1);
  const store = new Store();
  const auditor = new Auditor();
  let server = new Server(options, store, random, 0);
  for (const [now, what] of story) {
    if (what === "crash") {
      auditor.crash(options.persist);
      server = new Server(options, store, random, now);
    } else server.step(what, now);
    for (const report of server.commit()) auditor.observe(report);
  }
}

/** By name, how often it must have happened at least. The types make sure that nothing new is left out. */
function expectedCoverage(): Record<string, number> {
  const effects: Record<Effect["kind"], number> = {
    opened: 5000,
    resumed: 5000,
    session_ended: 5000,
    queued: 20_000,
    granted: 50_000,
    ended: 50_000,
    lost: 5000,
    extended: 2000,
    released: 10_000,
    asked: 1500,
    revoked: 1000,
    status: 2000,
    list: 2000,
    refused: 20_000,
    started: 20_000,
    replay: 5000,
    in_progress: 5000,
    attempt_queued: 5000,
    completed: 3000,
    failed: 2000,
    attempt_extended: 1000,
    forgotten: 2000,
    attempt_lost: 10_000,
    record_status: 2000,
  };
  const refusals: Record<RefusalCode, number> = {
    limit: 5000,
    limit_mismatch: 1000,
    depth_limit: 1000,
    request_mismatch: 500,
    unknown_token: 5000,
    session_ended: 5000,
    not_waiting: 2000,
    shared_holders: 50,
    fingerprint_mismatch: 2000,
    result_mismatch: 200,
    unavailable: 1000,
  };
  const limits: Record<LimitName | LedgerLimitName, number> = {
    keys: 1000,
    waiters_per_key: 1000,
    claims_per_session: 1000,
    caller_claims: 1000,
    sessions: 1000,
    begins: 500,
    waiters_per_record: 200,
    begins_per_session: 300,
    records: 1000,
  };
  const outcomes: Record<Outcome, number> = {
    released: 10_000,
    expired: 10_000,
    stolen: 1000,
    dropped: 1000,
    revoked: 500,
    cancelled: 500,
    timed_out: 10_000,
  };
  const deeds: Record<Deed, number> = {
    deliver: 10_000,
    open: 10_000,
    resume: 10_000,
    resumeWrong: 500,
    drop: 5000,
    bye: 1000,
    acquire: 50_000,
    try: 5000,
    reenter: 5000,
    nest: 5000,
    steal: 1000,
    mismatch: 1000,
    cancel: 5000,
    hangUp: 5000,
    extend: 5000,
    release: 10_000,
    ask: 3000,
    askNoMore: 1000,
    showAsks: 1000,
    hand: 3000,
    handAstray: 1000,
    repeatHand: 1000,
    repeatSame: 5000,
    repeatOther: 1000,
    repeatRelease: 5000,
    staleToken: 5000,
    foreignToken: 1000,
    revokeKey: 500,
    revokeSession: 500,
    status: 2000,
    list: 2000,
    tick: 2000,
    crashBeforeCommit: 500,
    crashBeforeDelivery: 500,
  };
  const ledgerDeeds: Record<LedgerDeed, number> = {
    begin: 50_000,
    beginOther: 2000,
    repeatBegin: 5000,
    repeatBeginOther: 1000,
    complete: 10_000,
    repeatComplete: 3000,
    fail: 5000,
    extendAttempt: 5000,
    staleAttempt: 5000,
    forget: 1000,
    forgetOwn: 1000,
    recordStatus: 2000,
    cancelBegin: 3000,
    sweep: 2000,
    session: 5000,
    crash: 300,
  };
  const losses: Record<LossReason, number> = {
    expired: 5000,
    dropped: 50,
    forgotten: 100,
    completed: 300,
    superseded: 5000,
    unknown: 3000,
  };
  const records: Record<RecordState | "absent", number> = { running: 500, idle: 300, done: 300, absent: 500 };
  const paces: Record<Pace, number> = {
    still: 50_000,
    creep: 50_000,
    jump: 1000,
    oversleep: 10_000,
    exact: 10_000,
    backwards: 10_000,
  };
  return {
    ...named("effect", effects),
    ...named("refused", refusals),
    ...named("limit", limits),
    ...named("deed", deeds),
    ...named("deed", ledgerDeeds),
    ...named("attempt lost", losses),
    ...named("record", records),
    ...named("time", paces),
    ...named("held,", { ...outcomes, timed_out: 0 }),
    ...named("waited,", { timed_out: 10_000, cancelled: 500, dropped: 500, revoked: 100 }),
    ...named("lost", {
      ...outcomes,
      expired: 7000,
      cancelled: 50,
      revoked: 50,
      stolen: 100,
      dropped: 100,
      released: 500,
    }),
    ...named("lost", { timed_out: 0, unknown: 5000 }),
    ...named("session", { dropped: 2000, bye: 1000, revoked: 100 }),
    ...named("fault", { late: 10_000, duplicate: 10_000, reorder: 5000, "after the end": 5000 }),
    ...named("restored", { holding: 1000, waiting: 500, gone: 5000, session: 1000 }),
    exclusive: 10_000,
    shared: 10_000,
    "re-entered": 2000,
    nested: 2000,
    "nest memory full": 50,
    unnested: 1000,
    "unnested already": 100,
    "released already": 1000,
    "ended again": 1000,
    "ended by another": 1000,
    "list goes on": 50,
    "list with a queue": 50,
    "asks shown": 300,
    "asks listed": 20,
    "handed over": 1000,
    "handed past the queue": 200,
    "handed whatever the depth": 50,
    "handed to a session that is away": 50,
    "restored ask": 50,
    "resumed while connected": 1000,
    "uncommitted steps lost": 500,
    "woken by a restart": 50,
    "started after a loss": 5000,
    "completed already": 100,
    "forgotten was not there": 500,
    "records swept": 500,
    "restored attempt": 500,
    "restored begin that waits": 50,
  };
}

function named(prefix: string, counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${prefix} ${name}`, count]));
}
