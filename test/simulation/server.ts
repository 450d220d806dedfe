import type { Command } from "../../src/core/command.ts";
import type { Effect } from "../../src/core/effect.ts";
import type { EngineCounts } from "../../src/core/engine.ts";
import type { LedgerCounts } from "../../src/core/idempotency/ledger.ts";
import { isAboutRecord, Machine } from "../../src/core/machine.ts";
import { Outbox } from "../../src/core/outbox.ts";
import type { RecordImage } from "../../src/core/idempotency/record.ts";
import type { Change } from "../../src/core/record.ts";
import { isEqual } from "./equal.ts";
import { demand } from "./failure.ts";
import type { LedgerModel } from "./ledger-model.ts";
import { MachineModel } from "./machine-model.ts";
import type { Model } from "./model.ts";
import type { WorldOptions } from "./options.ts";
import type { Random } from "./random.ts";
import type { Store } from "./store.ts";

/** What may be told of a key that looks as before: a claim came and went within the step, or its lease ends when it did. */
const MOVES: ReadonlySet<string> = new Set<Effect["kind"]>(["granted", "ended", "extended"]);

/** One step as it can be seen from outside. */
export interface Report {
  /** Undefined for a restart. */
  readonly command: Command | undefined;
  /** Engine time: never smaller than before. */
  readonly now: number;
  readonly effects: readonly Effect[];
  readonly isQuarantined: boolean;
  readonly counts: EngineCounts;
  readonly ledger: LedgerCounts;
}

/**
 * One life of a server: a machine and beside it the model, given the same commands. Every step is compared. Changes
 * and effects gather until `commit`, as in a host that writes in groups; what was not committed when it crashes was never said.
 */
export class Server {
  readonly model: MachineModel;
  readonly #machine: Machine;
  readonly #options: WorldOptions;
  readonly #random: Random;
  readonly #store: Store;
  readonly #block: number;
  readonly #isCompared: boolean;
  readonly #outbox = new Outbox();
  /** The keys that the latest step touched. */
  touched: ReadonlySet<string> = new Set();
  /** What could be seen of each key after the latest step. */
  #shown: ReadonlyMap<string, string> = new Map();
  #changes: Change[] = [];
  #reports: Report[] = [];
  /** The model's effects, compared once more at the commit: an engine must not change what it has told. */
  #expected: Effect[][] = [];

  constructor(options: WorldOptions, store: Store, random: Random, now: number) {
    const { limits, ledgerLimits, persist, quarantineMs } = options;
    this.#outbox.isWatched = options.isWatched;
    const quarantineUntil = quarantineMs > 0 ? now + quarantineMs : -Infinity;
    const serial = store.reserved;
    this.#block = options.serialBlock;
    this.#isCompared = options.judge === "both";
    this.#store = store;
    this.#options = options;
    this.#random = random;
    const allLimits = { ...limits, ...ledgerLimits };
    this.#machine = new Machine({ limits: allLimits, persist, serial, ...(quarantineMs > 0 && { quarantineUntil }) });
    this.model = new MachineModel({ limits, ledgerLimits, persist, serial, quarantineUntil });
    const image = store.load(random);
    const expected = this.model.restore(image, now);
    const records = image.records.filter(({ state }) => state === "running");
    this.#machine.restore({ ...image, records }, now, this.#outbox);
    this.#collect(undefined, expected);
  }

  /** Steps whose effects nobody has heard yet. */
  get uncommitted(): number {
    return this.#reports.length;
  }

  nextDeadline(): number {
    return this.#machine.nextDeadline();
  }

  step(asked: Command, now: number): readonly Effect[] {
    const command = this.#withFound(asked);
    const expected = this.model.step(command, now);
    this.#machine.step(command, now, this.#outbox);
    return this.#collect(command, expected);
  }

  /** Deletes stored records whose time is over. Nobody may notice. Says how many. */
  sweep(): number {
    return this.#store.ledger.sweep(this.model.now, this.#random.between(1, 3));
  }

  /** Stores what changed and hands out what may be told from now on. */
  commit(): readonly Report[] {
    this.#store.commit(this.#changes, this.#machine.serial, this.#block);
    if (this.#isCompared) this.#compareCommitted();
    const reports = this.#reports;
    this.#reports = [];
    this.#changes = [];
    this.#expected = [];
    return reports;
  }

  #collect(command: Command | undefined, expected: Effect[]): readonly Effect[] {
    const outbox = this.#outbox;
    const actual = outbox.effects.slice(0, outbox.effectCount);
    for (let i = 0; i < outbox.changeCount; i++) this.#changes.push(outbox.changes[i] as Change);
    this.touched = new Set(outbox.touched);
    outbox.clear();
    const { idempotency: ledger, ...counts } = this.#machine.counts();
    if (this.#isCompared) {
      demand(isEqual(expected, actual), "the machine's effects are not the model's", () => ({ expected, actual }));
      this.#compareRest(counts, ledger);
      if (command !== undefined) this.#compareTouched(actual);
      else if (this.#options.isWatched) this.#shown = this.model.space.shown();
    }
    const { now } = this.model;
    this.#reports.push({
      command,
      now,
      effects: actual,
      isQuarantined: this.model.locks.isQuarantined(),
      counts,
      ledger,
    });
    this.#expected.push(expected);
    return actual;
  }

  /** Of whatever key something else can be seen than before, watchers are told; and of no key of which nothing was told. */
  #compareTouched(effects: readonly Effect[]): void {
    const { touched } = this;
    if (!this.#options.isWatched) return demand(touched.size === 0, "keys are touched though nobody watches");
    const before = this.#shown;
    const after = this.model.space.shown();
    this.#shown = after;
    const keys = [...new Set([...before.keys(), ...after.keys()])];
    const changed = keys.filter((key) => before.get(key) !== after.get(key));
    const missed = changed.filter((key) => !touched.has(key));
    demand(missed.length === 0, "a key changed and was not touched", () => ({ missed, touched: [...touched] }));
    const told = new Set(effects.flatMap((effect) => (MOVES.has(effect.kind) && "key" in effect ? [effect.key] : [])));
    const idle = [...touched].filter((key) => !changed.includes(key) && !told.has(key));
    demand(idle.length === 0, "a key was touched and nothing happened to it", () => ({ idle }));
  }

  #compareCommitted(): void {
    const { locks, ledger, now } = this.model;
    const image = locks.image();
    const waiters = ledger.waiters.filter(({ asked }) => this.#options.persist === "all" && asked.session);
    const difference =
      this.#store.difference(image.claims, image.sessions) ??
      this.#store.ledger.difference(ledger.records, waiters, now);
    demand(difference === undefined, `the store is not what it should be: ${difference}`);
    this.#reports.forEach(({ effects }, i) => {
      const expected = this.#expected[i];
      demand(isEqual(expected, effects), "an effect was changed after it was told", () => ({ expected, effects }));
    });
  }

  /**
   * As a host does: what is not committed yet counts, then what the store has. Now and then also for a key whose record lives,
   * which must not matter.
   */
  #withFound(command: Command): Command {
    if (!isAboutRecord(command)) return command;
    const random = this.#random;
    const { key } = command;
    if (!this.#machine.needsFound(key) && !random.chance(0.2)) return command;
    if (random.chance(this.#options.unreadable)) return { ...command, found: "unreadable" };
    const found = this.#find(key);
    const isFull = this.#store.ledger.recordCount >= this.#options.recordsMax;
    const completed = found === undefined ? command : { ...command, found };
    return completed.kind === "begin" && isFull ? { ...completed, isStoreFull: true } : completed;
  }

  #find(key: string): RecordImage | undefined {
    for (const change of this.#changes.toReversed()) {
      if (change.kind === "record" && change.record.key === key) return change.record;
      if (change.kind === "record_gone" && change.key === key) return undefined;
    }
    return this.#store.ledger.find(key);
  }

  #compareRest(counts: EngineCounts, ledgerCounts: LedgerCounts): void {
    const model = this.model.locks;
    const { ledger } = this.model;
    const engineSerial = this.#machine.serial;
    demand(engineSerial === model.serial, "the serial is not the model's", () => ({
      expected: model.serial,
      actual: engineSerial,
    }));
    const expected = countsOf(model);
    demand(isEqual(expected, counts), "the counts are not the model's", () => ({ expected, actual: counts }));
    const ledgerExpected = ledgerCountsOf(ledger);
    demand(isEqual(ledgerExpected, ledgerCounts), "the ledger's counts are not the model's", () => ({
      expected: ledgerExpected,
      actual: ledgerCounts,
    }));
    const seen = Math.min(model.nextDeadline(), ledger.nextDeadline());
    const next = this.#machine.nextDeadline();
    // The machine may also wake to forget.
    const unseen = model.space.remembered().reduce((least, claim) => Math.min(least, claim.deadline), seen);
    demand(next === seen || next === unseen, "the next deadline is not the model's", () => ({ seen, unseen, next }));
  }
}

function ledgerCountsOf(ledger: LedgerModel): LedgerCounts {
  const running = ledger.running().length;
  const waiting = ledger.waiters.length;
  return { running, waiting, requests: running + waiting, deadlines: running + waiting };
}

function countsOf({ space }: Model): EngineCounts {
  const live = space.live();
  const waiting = live.filter((claim) => claim.state === "waiting").length;
  return {
    claims: live.length,
    waiting,
    holding: live.length - waiting,
    keys: space.liveKeys().length,
    sessions: space.sessions.length,
    deadlines: [...live, ...space.sessions].filter((due) => due.deadline !== Infinity).length,
    tokens: space.claims.filter((claim) => claim.fence > 0).length,
    remembered: space.remembered().length,
    requests: space.claims.filter((claim) => claim.requestKnown).length,
  };
}
