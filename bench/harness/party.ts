/** One subject or floor in one scenario: its load generator, and all its turns so far. */

import { driverOf } from "../drivers/all.ts";
import { spread } from "../figures.ts";
import type { Figures, Slice } from "../load/job.ts";
import { POLLING_SLICE_MS, type Scenario } from "../scenarios.ts";
import { usageOf } from "../servers/proc.ts";
import type { BenchServer } from "../servers/server.ts";
import { Loader } from "./loader.ts";
import type { Row } from "./results.ts";
import type { Floor, Subject } from "./subjects.ts";

let rowCount = 0;

export class Party {
  readonly name: string;
  readonly slices: Slice[] = [];
  error: string | undefined;
  figures: Figures | undefined;
  readonly #loader: Loader;
  readonly #server: BenchServer | undefined;
  readonly #isQuiet: boolean;
  #serverCpuMs = 0;

  private constructor(name: string, loader: Loader, server: BenchServer | undefined, isQuiet: boolean) {
    this.name = name;
    this.#loader = loader;
    this.#server = server;
    this.#isQuiet = isQuiet;
  }

  /** Connected and ready; what goes wrong stands in `error`. */
  static async prepare(who: Subject | Floor, server: BenchServer | undefined, scenario: Scenario): Promise<Party> {
    const { can } = await driverOf(who.driver);
    const party = new Party(who.name, new Loader(who.load, can.quiet), server, can.quiet);
    const row = `row${++rowCount}-${process.pid}`;
    const count = scenario.keys === "hot" ? 1 : scenario.keys === "own" ? scenario.clients : scenario.keys;
    const keys = Array.from({ length: count }, (_, index) => `${row}:${index}`);
    const target = { url: server?.url ?? "", row, keys };
    await party.#try(() => party.#loader.prepare({ driver: who.driver, target, scenario, serverPid: server?.pid }));
    return party;
  }

  /** A turn that does not count: what runs for the first time is slow. */
  async warmUp(ms: number): Promise<void> {
    if (this.error === undefined) await this.#try(() => this.#loader.slice(ms, true));
  }

  async slice(ms: number): Promise<Slice | undefined> {
    if (this.error !== undefined) return undefined;
    const before = this.#serverCpu();
    const slice = await this.#try(() => this.#loader.slice(this.#isQuiet ? ms : Math.max(ms, POLLING_SLICE_MS), false));
    this.#serverCpuMs += this.#serverCpu() - before;
    if (slice !== undefined) this.slices.push(slice);
    return slice;
  }

  /** Reads the figures and ends the load generator. */
  async finish(): Promise<void> {
    if (this.error === undefined) this.figures = await this.#try(() => this.#loader.figures());
    this.#loader.kill();
  }

  /** What this party's own turns say; the ratios are the harness's. */
  row(): Partial<Row> {
    if (this.error !== undefined) return { invalid: this.error };
    const { slices, figures } = this;
    const sum = (of: (slice: Slice) => number): number => slices.reduce((total, slice) => total + of(slice), 0);
    const cycles = sum((slice) => slice.cycles);
    const loadCpuMs = sum((slice) => slice.loadCpuMs);
    return {
      cyclesPerSecond: spread(slices.map((slice) => (slice.cycles * 1000) / slice.windowMs)),
      scoreNs: spread(slices.map((slice) => slice.scoreNs ?? Number.NaN)),
      ...(this.#server?.pid === undefined ? undefined : { serverCpuMsPer1000: (this.#serverCpuMs * 1000) / cycles }),
      loadCpuMsPer1000: (loadCpuMs * 1000) / cycles,
      loadShare: loadCpuMs / sum((slice) => slice.windowMs),
      ...(figures === undefined ? undefined : { figures }),
    };
  }

  #serverCpu(): number {
    const pid = this.#server?.pid;
    return pid === undefined ? 0 : (usageOf(pid)?.cpuMs ?? 0);
  }

  async #try<T>(run: () => Promise<T>): Promise<T | undefined> {
    try {
      return await run();
    } catch (error) {
      this.error = error instanceof Error ? error.message : String(error);
      return undefined;
    }
  }
}
