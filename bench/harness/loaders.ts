/** The load generators of a row: one, or several that share its clients. */

import type { Figures, Job, Slice } from "../load/job.ts";
import { type Entry, machineNs } from "../load/log.ts";
import type { Scenario } from "../scenarios.ts";
import type { Loader } from "./loader.ts";
import { Replay } from "./replay.ts";

/** A slice of all together. */
export interface Turn extends Slice {
  /** What the busiest of the load generators took of its core. */
  readonly busiestCpuMs: number;
}

/** For the news of a common start to arrive, ms. */
const START_IN_MS = 10;

export class Loaders {
  readonly #loaders: readonly Loader[];
  #parts: readonly Job[] = [];
  #replay: Replay | undefined;

  constructor(loaders: readonly Loader[]) {
    this.#loaders = loaders;
  }

  get count(): number {
    return this.#loaders.length;
  }

  get pids(): readonly (number | undefined)[] {
    return this.#loaders.map(({ pid }) => pid);
  }

  async prepare(job: Job): Promise<void> {
    const { clients, keys } = job.scenario;
    const { count } = this;
    this.#parts = count === 1 ? [job] : Array.from({ length: count }, (_, index) => partOf(job, index, count));
    if (count > 1) this.#replay = new Replay(clients, keys === "own");
    // One after the other: the first lays out what all share.
    for (const [index, part] of this.#parts.entries()) await this.#loaders[index]?.prepare(part);
  }

  async slice(ms: number, isWarmUp: boolean): Promise<Turn> {
    const replay = this.#replay;
    const atNs = replay === undefined ? undefined : machineNs() + START_IN_MS * 1e6;
    const slices = await Promise.all(this.#loaders.map((loader) => loader.slice(ms, isWarmUp, atNs)));
    const [only] = slices;
    const busiestCpuMs = Math.max(...slices.map(({ loadCpuMs }) => loadCpuMs));
    if (replay === undefined || atNs === undefined) return { ...(only as Slice), busiestCpuMs };
    const told = replay.slice(
      slices.flatMap(({ log = [] }, index) => this.#numbered(log, index)),
      atNs,
      ms,
    );
    if (isWarmUp) replay.record.forgetTimes();
    const loadCpuMs = slices.reduce((sum, slice) => sum + slice.loadCpuMs, 0);
    return { ...told, windowMs: ms, loadCpuMs, busiestCpuMs };
  }

  async figures(): Promise<Figures> {
    const parts = await Promise.all(this.#loaders.map((loader) => loader.figures()));
    const [first] = parts as [Figures, ...Figures[]];
    const record = this.#replay?.record;
    if (record === undefined) return first;
    const grants = parts.reduce((sum, part) => sum + part.grants, 0);
    const bytes = parts.reduce((sum, part) => sum + (part.bytesPerCycle ?? Number.NaN) * part.grants, 0);
    return {
      ...first,
      handOff: record.handOffs.summary(),
      wait: record.waits.summary(),
      fairness: record.fairness(),
      violations: record.violations,
      grants,
      bytesPerCycle: Number.isFinite(bytes / grants) ? bytes / grants : null,
      timeline: record.timeline,
    };
  }

  /** Of the row. */
  async end(): Promise<void> {
    await Promise.all(this.#loaders.map((loader) => loader.end()));
  }

  #numbered(log: readonly Entry[], index: number): readonly Entry[] {
    const before = this.#parts.slice(0, index).reduce((sum, { scenario }) => sum + scenario.clients, 0);
    return before === 0 ? log : log.map((entry) => ({ ...entry, client: entry.client + before }));
  }
}

/** In how many processes a row's clients can be: only in `cycles` does nobody have to know of all others. */
export function loadersFor({ shape, clients }: Scenario, hasServer: boolean, wanted: number): number {
  return shape === "cycles" && hasServer ? Math.min(wanted, clients) : 1;
}

/** The share of one load generator: clients in a row, with the readers and keys that are theirs. */
export function partOf(job: Job, index: number, count: number): Job {
  const { scenario, target } = job;
  const from = Math.floor((scenario.clients * index) / count);
  const to = Math.floor((scenario.clients * (index + 1)) / count);
  const clients = to - from;
  const isOwn = scenario.keys === "own";
  return {
    ...job,
    scenario: { ...scenario, clients, readers: Math.min(clients, Math.max(0, scenario.readers - from)) },
    target: { ...target, keys: isOwn ? target.keys.slice(from, to) : target.keys, isLaidOut: !isOwn && index > 0 },
    isLogged: true,
  };
}
