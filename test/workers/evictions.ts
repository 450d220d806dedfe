/**
 * The commands of a simulated world, given to a machine that is put away and taken out of its storage again between steps
 * drawn at random, and to the model, which never sleeps and knows nothing of it. Every effect must agree.
 */

import type { Command, Effect } from "../../src/core/index.ts";
import { isAboutRecord, Machine, Outbox } from "../../src/core/index.ts";
import { ObjectStore, type ObjectStorage } from "../../src/stores/durable-object.ts";
import { isEqual, show } from "../simulation/equal.ts";
import { MachineModel } from "../simulation/machine-model.ts";
import { drawOptions, type WorldOptions } from "../simulation/options.ts";
import { Random } from "../simulation/random.ts";
import { simulate } from "../simulation/world.ts";

export interface Replayed {
  readonly steps: number;
  readonly evictions: number;
  readonly restarts: number;
}

const SPACE = "space";
const EVICTION_CHANCE = 0.2;
const RESTART_CHANCE = 0.02;
const SWEEP_CHANCE = 0.05;
/** An image does not say what ended first, so nothing may be forgotten for want of room. */
const ENDED_MAX = 100_000;

/** Throws with the seed at the first effect that differs. */
export function replay(seed: number, steps: number, storage: ObjectStorage): Replayed {
  const options = worldOf(seed, steps);
  const story: [command: Command, now: number][] = [];
  let now = 0;
  simulate(options, (command, at) => {
    // Engine time is wall time here, and an object that wakes has forgotten the latest that it saw.
    now = Math.max(now, at);
    if (command !== undefined) story.push([command, now]);
  });
  const life = new Life(options, storage, story[0]?.[1] ?? 0);
  for (const [i, [command, at]] of story.entries()) {
    try {
      life.step(command, at);
    } catch (error) {
      throw new Error(`SEED=${seed} STEPS=${steps}, step ${i}: ${String(error)}`, { cause: error });
    }
  }
  return { steps: story.length, evictions: life.evictions, restarts: life.restarts };
}

function worldOf(seed: number, steps: number): WorldOptions {
  const drawn = drawOptions(seed, steps, "auditor");
  return {
    ...drawn,
    persist: "all",
    quarantineMs: 0,
    batchMax: 1,
    limits: { ...drawn.limits, endedMax: ENDED_MAX },
    deeds: { ...drawn.deeds, crashBeforeCommit: 0, crashBeforeDelivery: 0 },
    ledgerDeeds: { ...drawn.ledgerDeeds, crash: 0 },
  };
}

class Life {
  evictions = 0;
  restarts = 0;
  readonly #options: WorldOptions;
  readonly #random: Random;
  readonly #storage: ObjectStorage;
  readonly #model: MachineModel;
  readonly #outbox = new Outbox();
  readonly #numbers = new Numbers();
  readonly #connected = new Set<string>();
  #now: number;
  #store!: ObjectStore;
  #machine!: Machine;

  constructor(options: WorldOptions, storage: ObjectStorage, now: number) {
    this.#options = options;
    this.#random = new Random(options.seed + 1);
    this.#storage = storage;
    this.#now = now;
    const { limits, ledgerLimits } = options;
    this.#model = new MachineModel({ limits, ledgerLimits, persist: "all", serial: 0, quarantineUntil: -Infinity });
    this.#load();
    this.#commit();
  }

  step(command: Command, now: number): void {
    this.#now = now;
    if (this.#random.chance(EVICTION_CHANCE)) this.#evict();
    else if (this.#random.chance(RESTART_CHANCE)) this.#restart();
    const expected = this.#model.step(command, now);
    if (this.#random.chance(SWEEP_CHANCE)) this.#store.sweep(now, 3);
    const found =
      isAboutRecord(command) && this.#machine.needsFound(command.key) && this.#store.find(SPACE, command.key);
    this.#machine.step(found ? { ...command, found } : command, now, this.#outbox);
    this.#commit(expected);
    for (const effect of expected) {
      if (effect.kind === "opened" || effect.kind === "resumed") this.#connected.add(effect.to);
      else if (effect.kind === "session_ended") this.#connected.delete(effect.to);
    }
    if (command.kind === "drop") this.#connected.delete(command.session);
  }

  /** Memory is lost and sockets are not: nothing happens but what is due. */
  #evict(): void {
    this.evictions += 1;
    const expected = this.#tick();
    this.#load();
    this.#commit(expected);
    this.#forgetEnded(expected);
  }

  /** Sockets are lost as well: each session without one is dropped, in the same step. */
  #restart(): void {
    this.restarts += 1;
    const expected = this.#tick();
    const sessions = this.#load();
    for (const session of sessions) {
      if (!this.#connected.delete(session)) continue;
      expected.push(...this.#model.step({ kind: "drop", session }, this.#now));
      this.#machine.step({ kind: "drop", session }, this.#now, this.#outbox);
    }
    this.#commit(expected);
    this.#forgetEnded(expected);
  }

  /**
   * A sleep makes a machine forget two things: tries that failed, which are not stored, so that a poll costs no row; and callers who
   * wait for an attempt, since an object with a call under way does not sleep, and a restart ends the call.
   */
  #tick(): Effect[] {
    const { space, ledger } = this.#model;
    ledger.waiters = ledger.waiters.filter(({ asked }) => asked.session);
    const expected = this.#model.step({ kind: "tick" }, this.#now);
    for (const claim of space.claims) if (!claim.stored) space.forget(claim);
    return expected;
  }

  #forgetEnded(effects: readonly Effect[]): void {
    for (const effect of effects) if (effect.kind === "session_ended") this.#connected.delete(effect.to);
  }

  #load(): readonly string[] {
    const clock = { now: () => this.#now, wall: () => this.#now, isWall: true } as const;
    this.#store = new ObjectStore(this.#storage, { clock, isWake: true });
    const { image, serial } = this.#store.load(SPACE);
    const { limits, ledgerLimits } = this.#options;
    this.#machine = new Machine({ limits: { ...limits, ...ledgerLimits }, persist: "all", serial });
    this.#machine.restore(image, this.#now, this.#outbox);
    return image.sessions.map(({ id }) => id);
  }

  #commit(expected: readonly Effect[] = []): void {
    const { effects, effectCount, changes, changeCount } = this.#outbox;
    const actual = effects.slice(0, effectCount);
    this.#store.commit(SPACE, { changes, changeCount, serialReserved: this.#machine.serial });
    this.#outbox.clear();
    const translated = expected.map((effect, i) => this.#numbers.translate(effect, actual[i]));
    if (isEqual(translated, actual)) return;
    throw new Error(`the effects differ\n  expected ${show(translated)}\n  actual   ${show(actual)}`);
  }
}

/** Tickets and fences jump with each load and must only rise: the model's are put in the place of those that came first. */
class Numbers {
  readonly #known = new Map<number, number>();
  #modelMax = 0;
  #engineMax = 0;

  translate<T>(expected: T, actual: unknown): T {
    if (Array.isArray(expected)) {
      const others = Array.isArray(actual) ? (actual as unknown[]) : [];
      return expected.map((item: unknown, i) => this.translate(item, others[i])) as T;
    }
    if (typeof expected !== "object" || expected === null) return expected;
    const other = (typeof actual === "object" && actual !== null ? actual : {}) as Record<string, unknown>;
    const entries = Object.entries(expected).map(([name, value]: [string, unknown]) => {
      const isNumber = (name === "ticket" || name === "fence") && typeof value === "number";
      return [name, isNumber ? this.#number(value, other[name]) : this.translate(value, other[name])];
    });
    return Object.fromEntries(entries) as T;
  }

  #number(expected: number, actual: unknown): unknown {
    const known = this.#known.get(expected);
    if (known !== undefined) return known;
    if (typeof actual !== "number") return expected;
    if (expected > this.#modelMax) {
      if (actual <= this.#engineMax) throw new Error(`${actual} was given out after ${this.#engineMax}`);
      this.#modelMax = expected;
      this.#engineMax = actual;
    }
    this.#known.set(expected, actual);
    return actual;
  }
}
