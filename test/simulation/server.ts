import type { Command } from "../../src/core/command.ts";
import type { Effect } from "../../src/core/effect.ts";
import { Engine } from "../../src/core/engine.ts";
import type { EngineCounts } from "../../src/core/engine.ts";
import { Outbox } from "../../src/core/outbox.ts";
import type { Change } from "../../src/core/record.ts";
import { isEqual } from "./equal.ts";
import { demand } from "./failure.ts";
import { Model } from "./model.ts";
import type { WorldOptions } from "./options.ts";
import type { Random } from "./random.ts";
import type { Store } from "./store.ts";

/** One step as it can be seen from outside. */
export interface Report {
  /** Undefined for a restart. */
  readonly command: Command | undefined;
  /** Engine time: never smaller than before. */
  readonly now: number;
  readonly effects: readonly Effect[];
  readonly isQuarantined: boolean;
  readonly counts: EngineCounts;
}

/**
 * One life of a server: an engine and beside it the model, given the same commands. Every step is compared. Changes
 * and effects gather until `commit`, as in a host that writes in groups; what was not committed when it crashes was never said.
 */
export class Server {
  readonly model: Model;
  readonly #engine: Engine;
  readonly #store: Store;
  readonly #block: number;
  readonly #isCompared: boolean;
  readonly #outbox = new Outbox();
  #changes: Change[] = [];
  #reports: Report[] = [];
  /** The model's effects, compared once more at the commit: an engine must not change what it has told. */
  #expected: Effect[][] = [];

  constructor(options: WorldOptions, store: Store, random: Random, now: number) {
    const { limits, persist, quarantineMs } = options;
    const quarantineUntil = quarantineMs > 0 ? now + quarantineMs : -Infinity;
    const serial = store.reserved;
    this.#block = options.serialBlock;
    this.#isCompared = options.judge === "both";
    this.#store = store;
    this.#engine = new Engine({ limits, persist, serial, ...(quarantineMs > 0 && { quarantineUntil }) });
    this.model = new Model({ limits, persist, serial, quarantineUntil });
    const image = store.load(random);
    const expected = this.model.restore(image, now);
    this.#engine.restore(image, now, this.#outbox);
    this.#collect(undefined, expected);
  }

  /** Steps whose effects nobody has heard yet. */
  get uncommitted(): number {
    return this.#reports.length;
  }

  nextDeadline(): number {
    return this.#engine.nextDeadline();
  }

  step(command: Command, now: number): readonly Effect[] {
    const expected = this.model.step(command, now);
    this.#engine.step(command, now, this.#outbox);
    return this.#collect(command, expected);
  }

  /** Stores what changed and hands out what may be told from now on. */
  commit(): readonly Report[] {
    this.#store.commit(this.#changes, this.#engine.serial, this.#block);
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
    outbox.clear();
    const counts = this.#engine.counts();
    if (this.#isCompared) {
      demand(isEqual(expected, actual), "the engine's effects are not the model's", () => ({ expected, actual }));
      this.#compareRest(counts);
    }
    const { now } = this.model;
    this.#reports.push({ command, now, effects: actual, isQuarantined: this.model.isQuarantined(), counts });
    this.#expected.push(expected);
    return actual;
  }

  #compareCommitted(): void {
    const image = this.model.image();
    const difference = this.#store.difference(image.claims, image.sessions);
    demand(difference === undefined, `the store is not what it should be: ${difference}`);
    this.#reports.forEach(({ effects }, i) => {
      const expected = this.#expected[i];
      demand(isEqual(expected, effects), "an effect was changed after it was told", () => ({ expected, effects }));
    });
  }

  #compareRest(counts: EngineCounts): void {
    const { model } = this;
    const engineSerial = this.#engine.serial;
    demand(engineSerial === model.serial, "the serial is not the model's", () => ({
      expected: model.serial,
      actual: engineSerial,
    }));
    const expected = countsOf(model);
    demand(isEqual(expected, counts), "the counts are not the model's", () => ({ expected, actual: counts }));
    const seen = model.nextDeadline();
    const next = this.#engine.nextDeadline();
    // The engine may also wake to forget.
    const unseen = model.space.remembered().reduce((least, claim) => Math.min(least, claim.deadline), seen);
    demand(next === seen || next === unseen, "the next deadline is not the model's", () => ({ seen, unseen, next }));
  }
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
