/** One subject or floor in one scenario: its load generator, and all its turns so far. */

import { driverOf } from "../drivers/all.ts";
import { spread } from "../figures.ts";
import type { Figures } from "../load/job.ts";
import { LONG_SLICE_MS, type Scenario } from "../scenarios.ts";
import { threadTimesOf, usedMs } from "../servers/proc.ts";
import type { BenchServer } from "../servers/server.ts";
import { type Costs, isLong } from "./costs.ts";
import type { LoaderPool } from "./loader-pool.ts";
import { type Loaders, loadersFor, type Turn } from "./loaders.ts";
import type { Row } from "./results.ts";
import type { Floor, Subject } from "./subjects.ts";

/** Cycles in a turn of the usual length below which their median says nothing. */
const CYCLES_MIN = 3;

let rowCount = 0;

export class Party {
  readonly name: string;
  readonly costs: Costs;
  readonly slices: Turn[] = [];
  error: string | undefined;
  figures: Figures | undefined;
  readonly #who: Subject | Floor;
  readonly #pool: LoaderPool<Subject | Floor>;
  /** Undefined before it has any, and when its row is over. */
  #loaders: Loaders | undefined;
  readonly #loaderCount: number;
  readonly #server: BenchServer | undefined;
  /** It always needs longer turns. */
  readonly #isLong: boolean;
  /** Its last turn showed that the next one must be longer. */
  #isSlow = false;
  /** Grants that need no release before them. */
  readonly #atOnce: number;
  #serverCpuMs = 0;

  private constructor(
    who: Subject | Floor,
    scenario: Scenario,
    pool: LoaderPool<Subject | Floor>,
    loaderCount: number,
    server: BenchServer | undefined,
    isQuiet: boolean,
    costs: Costs,
  ) {
    this.name = who.name;
    this.costs = costs;
    this.#who = who;
    this.#pool = pool;
    this.#loaderCount = loadersFor(scenario, server !== undefined, loaderCount);
    this.#server = server;
    this.#isLong = isLong(scenario, isQuiet);
    this.#atOnce = scenario.keys === "own" ? scenario.clients : 0;
  }

  /** Connected and ready; what goes wrong stands in `error`, also where the server does not start. */
  static async prepare(
    who: Subject | Floor,
    starting: Promise<BenchServer> | undefined,
    scenario: Scenario,
    pool: LoaderPool<Subject | Floor>,
    loaderCount: number,
    costs: Costs,
  ): Promise<Party> {
    // At once: by the time that the driver is there it may have failed with nobody to hear of it.
    const started = starting?.catch((error: unknown) => messageOf(error));
    const { can } = await driverOf(who.driver);
    const found = await started;
    const server = typeof found === "string" ? undefined : found;
    const party = new Party(who, scenario, pool, loaderCount, server, can.quiet, costs);
    if (typeof found === "string") party.error = found;
    if (party.error !== undefined) return party;
    const row = `row${++rowCount}-${process.pid}`;
    const count = scenario.keys === "hot" ? 1 : scenario.keys === "own" ? scenario.clients : scenario.keys;
    const keys = Array.from({ length: count }, (_, index) => `${row}:${index}`);
    const target = { url: server?.url ?? "", row, keys };
    await party.#try(async () => {
      party.#loaders = await pool.take(who, party.#loaderCount);
      await party.#loaders.prepare({ driver: who.driver, target, scenario, serverPid: server?.pid });
    });
    return party;
  }

  /** A turn that does not count: what this row does for the first time is slow. */
  async warmUp(ms: number): Promise<void> {
    const loaders = this.#loaders;
    if (this.error !== undefined || loaders === undefined) return;
    const slice = await this.#try(() => loaders.slice(ms, true));
    // With keys of their own all clients are granted at once when they begin, and never as fast again.
    if (slice !== undefined) this.#isSlow = slice.scoreNs === null || slice.cycles <= this.#atOnce;
  }

  async slice(ms: number): Promise<Turn | undefined> {
    const loaders = this.#loaders;
    if (this.error !== undefined || loaders === undefined) return undefined;
    const before = this.#serverTimes();
    const slice = await this.#try(() => loaders.slice(this.#lengthOf(ms), false));
    this.#serverCpuMs += usedMs(before, this.#serverTimes());
    if (slice !== undefined) {
      this.slices.push(slice);
      // By what it did, not once and for all: it may have been the machine that stood still.
      this.#isSlow = slice.scoreNs === null || (slice.cycles * ms) / slice.windowMs < CYCLES_MIN;
    }
    return slice;
  }

  #lengthOf(ms: number): number {
    return this.#isLong || this.#isSlow ? Math.max(ms, LONG_SLICE_MS) : ms;
  }

  /** Reads the figures, and gives the load generators back for the next row. */
  async finish(): Promise<void> {
    const loaders = this.#loaders;
    if (loaders === undefined) return;
    this.#loaders = undefined;
    if (this.error === undefined) this.figures = await this.#try(() => loaders.figures());
    if (this.error === undefined) await this.#pool.giveBack(this.#who, loaders);
    else this.#pool.discard(loaders);
  }

  /** What this party's own turns say; the ratios are the harness's. */
  row(): Partial<Row> {
    if (this.error !== undefined) return { invalid: this.error };
    const { slices, figures } = this;
    const sum = (of: (slice: Turn) => number): number => slices.reduce((total, slice) => total + of(slice), 0);
    const cycles = sum((slice) => slice.cycles);
    const loadCpuMs = sum((slice) => slice.loadCpuMs);
    const windowMs = sum((slice) => slice.windowMs);
    return {
      cyclesPerSecond: spread(slices.map((slice) => (slice.cycles * 1000) / slice.windowMs)),
      scoreNs: spread(slices.map((slice) => slice.scoreNs ?? Number.NaN)),
      ...(this.#server?.pid === undefined
        ? undefined
        : { serverCpuMsPer1000: (this.#serverCpuMs * 1000) / cycles, serverShare: this.#serverCpuMs / windowMs }),
      loadCpuMsPer1000: (loadCpuMs * 1000) / cycles,
      loadShare: sum((slice) => slice.busiestCpuMs) / windowMs,
      loaders: this.#loaderCount,
      ...(figures === undefined ? undefined : { figures }),
    };
  }

  #serverTimes(): ReadonlyMap<string, number> {
    const { pid, helperPids = [] } = this.#server ?? {};
    const pids = pid === undefined ? [] : [pid, ...helperPids];
    return new Map(pids.flatMap((each) => [...threadTimesOf(each)]));
  }

  async #try<T>(run: () => Promise<T>): Promise<T | undefined> {
    try {
      return await run();
    } catch (error) {
      this.error = messageOf(error);
      return undefined;
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
