import { DEFAULT_LEDGER_LIMITS, DEFAULT_LIMITS } from "../../src/core/index.ts";
import type { EngineLimits, LedgerLimits } from "../../src/core/index.ts";
import { Random } from "./random.ts";

/** What the world can do in a step. Each is one class of things that happen to a lock server. */
export type Deed =
  | "deliver"
  | "open"
  | "resume"
  | "resumeWrong"
  | "drop"
  | "bye"
  | "acquire"
  | "try"
  | "reenter"
  | "nest"
  | "steal"
  | "mismatch"
  | "cancel"
  | "hangUp"
  | "extend"
  | "release"
  | "ask"
  | "askNoMore"
  | "showAsks"
  | "hand"
  | "handAstray"
  | "repeatHand"
  | "repeatSame"
  | "repeatOther"
  | "repeatRelease"
  | "staleToken"
  | "foreignToken"
  | "revokeKey"
  | "revokeSession"
  | "status"
  | "list"
  | "tick"
  | "crashBeforeCommit"
  | "crashBeforeDelivery";

/** The same for its idempotency records. */
export type LedgerDeed =
  | "begin"
  | "beginOther"
  | "repeatBegin"
  | "repeatBeginOther"
  | "complete"
  | "repeatComplete"
  | "fail"
  | "extendAttempt"
  | "staleAttempt"
  | "forget"
  | "forgetOwn"
  | "recordStatus"
  | "cancelBegin"
  | "sweep"
  | "session"
  | "crash";

/** How time goes between two steps. */
export type Pace = "still" | "creep" | "jump" | "oversleep" | "exact" | "backwards";

/** Everything that is drawn for one seed. Printed on a failure, and enough to run it again. */
export interface WorldOptions {
  readonly seed: number;
  readonly steps: number;
  /** `auditor`: what the engine does is not compared with the model, so that the invariants stand alone. */
  readonly judge: "both" | "auditor";
  readonly keys: readonly string[];
  /** For each key the limit that is usually asked for, or undefined for a plain lock. */
  readonly keyLimits: readonly (number | undefined)[];
  readonly limits: EngineLimits;
  readonly persist: "outliving" | "all";
  /** How many sessions the world wants to have, and how many callers without one. */
  readonly sessions: number;
  readonly callers: number;
  /** A commit gathers up to so many steps. */
  readonly batchMax: number;
  /** After each start of a server; 0 = none. */
  readonly quarantineMs: number;
  /** The serial is reserved ahead in blocks of this size. */
  readonly serialBlock: number;
  /** The smallest unit of time, ms. A coarse one makes many deadlines equal. */
  readonly tickMs: number;
  /** Deeds and paces by how often they are done; 0 = never under this seed. */
  readonly deeds: Readonly<Record<Deed, number>>;
  readonly paces: Readonly<Record<Pace, number>>;
  /** How likely a command is delayed, sent twice, or overtakes another one. */
  readonly late: number;
  readonly duplicate: number;
  readonly reorder: number;
  /** How likely a claim is of that kind. */
  readonly shared: number;
  readonly keep: number;
  readonly grace: number;
  readonly leased: number;
  readonly anonymous: number;
  /** Leases and waits are drawn up to about this, ms. */
  readonly ttlMaxMs: number;
  readonly timeoutMaxMs: number;
  /** How likely a deed is one about idempotency records; 0 = none under this seed. */
  readonly ledger: number;
  readonly ledgerDeeds: Readonly<Record<LedgerDeed, number>>;
  readonly ledgerLimits: LedgerLimits;
  /** From so many records on the store takes no new one. */
  readonly recordsMax: number;
  /** How likely the store cannot say what it has. */
  readonly unreadable: number;
  /** Records live up to about this, ms. */
  readonly recordTtlMaxMs: number;
  /** Whether somebody watches: which keys each step touches is then compared, too. */
  readonly isWatched: boolean;
}

/**
 * Draws a world by the swarm method: most classes of faults are left out of most seeds, because a world in which everything
 * happens always is a world in which nothing goes on long enough to go wrong.
 */
export function drawOptions(seed: number, steps: number, judge: WorldOptions["judge"] = "both"): WorldOptions {
  const random = new Random(seed);
  const keys = drawKeys(random);
  const drawn = {
    seed,
    steps,
    judge,
    keys,
    keyLimits: keys.map(() => (random.chance(0.25) ? random.between(1, 4) : undefined)),
    limits: drawLimits(random),
    persist: random.chance(0.7) ? "outliving" : "all",
    sessions: random.between(1, 9),
    callers: random.between(0, 5),
    batchMax: random.chance(0.7) ? 1 : random.between(2, 6),
    quarantineMs: random.chance(0.2) ? random.between(1, 60) * 50 : 0,
    serialBlock: random.pick([1, 8, 100, 1000]),
    tickMs: random.pick([0.25, 1, 1, 1, 1, 25, 50]),
    deeds: drawDeeds(random),
    paces: {
      still: random.between(1, 12),
      creep: random.between(1, 12),
      exact: random.between(0, 4),
      jump: random.chance(0.5) ? 0.2 : 0,
      oversleep: random.chance(0.6) ? random.between(1, 3) : 0,
      backwards: random.chance(0.5) ? random.between(1, 3) : 0,
    },
    late: random.chance(0.6) ? random.between(1, 6) / 10 : 0,
    duplicate: random.chance(0.5) ? random.between(1, 3) / 10 : 0,
    reorder: random.chance(0.5) ? random.between(1, 8) / 10 : 0,
    shared: random.pick([0, 0.2, 0.5, 0.8]),
    keep: random.pick([0, 0, 0.3, 0.6]),
    grace: random.pick([0, 0.3, 0.6, 0.6, 1]),
    leased: random.pick([0.1, 0.5, 0.9]),
    anonymous: random.pick([0, 0.2, 0.5, 0.9]),
    ttlMaxMs: random.pick([100, 300, 2000, 60_000]),
    timeoutMaxMs: random.pick([20, 200, 2000, 20_000, 60_000]),
    // Drawn after what was there before, so that worlds without these are what they were.
    ...drawLedger(random),
    isWatched: random.chance(0.15),
  } as const;
  return { ...drawn, deeds: { ...drawn.deeds, ...drawLateDeeds(random) } };
}

/** Names that a careless implementation mixes up: one starts with another, and code units sort unlike code points. */
const KEYS = ["/foo", "/foobar", "/fo", "", "\uffff", "\u{10000}", "\ud800", "\udfff", "__proto__", "10", "9"];

function drawKeys(random: Random): string[] {
  const names = random.shuffled(KEYS);
  if (random.chance(0.8)) return names.slice(0, random.between(1, 3));
  return [...names, ...Array.from({ length: 20 }, (_, i) => `/key/${i}`)];
}

function drawLimits(random: Random): EngineLimits {
  const small = (name: keyof EngineLimits, min: number, max: number): number =>
    random.chance(0.25) ? random.between(min, max) : DEFAULT_LIMITS[name];
  return {
    keysMax: small("keysMax", 1, 3),
    waitersPerKeyMax: small("waitersPerKeyMax", 1, 4),
    claimsPerSessionMax: small("claimsPerSessionMax", 1, 5),
    callerClaimsMax: small("callerClaimsMax", 1, 6),
    sessionsMax: small("sessionsMax", 1, 5),
    // The model looks at everything that it remembers, at every step.
    endedMax: random.chance(0.5) ? random.between(0, 12) : 150,
    depthMax: random.chance(0.5) ? random.between(1, 4) : DEFAULT_LIMITS.depthMax,
  };
}

/** What came later: a deed that is never done leaves the others as they are. */
export type LateDeed = "ask" | "askNoMore" | "showAsks" | "hand" | "handAstray" | "repeatHand";

function drawLateDeeds(random: Random): Record<LateDeed, number> {
  const some = (probability: number, max: number): number =>
    random.chance(probability) ? (random.between(1, 10) * max) / 10 : 0;
  return {
    ask: some(0.6, 6),
    askNoMore: some(0.5, 2),
    showAsks: some(0.6, 6),
    hand: some(0.6, 6),
    handAstray: some(0.6, 6),
    repeatHand: some(0.5, 3),
  };
}

function drawDeeds(random: Random): Record<Exclude<Deed, LateDeed>, number> {
  const some = (probability: number, max: number): number =>
    random.chance(probability) ? (random.between(1, 10) * max) / 10 : 0;
  const isNestful = random.chance(0.08);
  return {
    deliver: 10,
    open: 4,
    resume: 4,
    acquire: random.between(6, 20),
    release: random.between(2, 14),
    try: some(0.7, 4),
    reenter: some(0.6, 4),
    nest: isNestful ? 60 : some(0.6, 6),
    repeatRelease: isNestful ? 30 : some(0.6, 3),
    steal: some(0.4, 3),
    mismatch: some(0.4, 2),
    cancel: some(0.7, 5),
    hangUp: some(0.6, 4),
    extend: some(0.7, 5),
    resumeWrong: some(0.4, 1),
    drop: some(0.8, 3),
    bye: some(0.6, 1.5),
    repeatSame: some(0.7, 5),
    repeatOther: some(0.5, 2),
    staleToken: some(0.6, 4),
    foreignToken: some(0.5, 2),
    revokeKey: some(0.4, 1),
    revokeSession: some(0.4, 0.7),
    status: some(0.6, 2),
    list: some(0.5, 2),
    tick: some(0.6, 2),
    crashBeforeCommit: some(0.4, 1.5),
    crashBeforeDelivery: some(0.4, 1.5),
  };
}

function drawLedger(
  random: Random,
): Pick<WorldOptions, "ledger" | "ledgerDeeds" | "ledgerLimits" | "recordsMax" | "unreadable" | "recordTtlMaxMs"> {
  const some = (probability: number, max: number): number =>
    random.chance(probability) ? (random.between(1, 10) * max) / 10 : 0;
  const small = (name: keyof LedgerLimits, max: number): number =>
    random.chance(0.25) ? random.between(1, max) : DEFAULT_LEDGER_LIMITS[name];
  return {
    ledger: random.pick([0, 0, 0.2, 0.5, 0.5, 0.7, 0.9]),
    ledgerDeeds: {
      begin: random.between(6, 20),
      beginOther: some(0.5, 3),
      repeatBegin: some(0.7, 5),
      repeatBeginOther: some(0.5, 2),
      complete: some(0.8, 8),
      repeatComplete: some(0.6, 4),
      fail: some(0.6, 5),
      extendAttempt: some(0.6, 5),
      staleAttempt: some(0.6, 5),
      forget: some(0.4, 2),
      forgetOwn: some(0.4, 2),
      recordStatus: some(0.6, 3),
      cancelBegin: some(0.6, 4),
      sweep: some(0.6, 3),
      session: random.between(2, 8),
      crash: some(0.5, 0.6),
    },
    ledgerLimits: {
      beginsMax: small("beginsMax", 8),
      waitersPerRecordMax: small("waitersPerRecordMax", 4),
      beginsPerSessionMax: small("beginsPerSessionMax", 4),
    },
    recordsMax: random.chance(0.15) ? random.between(0, 3) : Infinity,
    unreadable: random.chance(0.3) ? random.pick([0.02, 0.2]) : 0,
    recordTtlMaxMs: random.pick([50, 1000, 20_000, 60_000]),
  };
}
