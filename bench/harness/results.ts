/** What a run leaves behind. The shape of bench/out/<run>.json. */

import type { Spread } from "../figures.ts";
import type { Figures } from "../load/job.ts";
import type { Scenario } from "../scenarios.ts";

export interface Row {
  readonly scenario: string;
  readonly subject: string;
  /** What the ratios are multiples of. */
  readonly floor: string | undefined;
  /** Why there are no figures, or why they do not count. */
  readonly skipped?: string;
  readonly invalid?: string;
  readonly cyclesPerSecond?: Spread | undefined;
  /** The scenario's own time: hand-off, cycle, pass or drop → next; the medians of the slices. */
  readonly scoreNs?: Spread | undefined;
  /** Time ÷ time of the floor, slice by slice. Smaller is better. */
  readonly timeRatio?: Spread | undefined;
  /** Cycles ÷ cycles of the floor, slice by slice. Larger is better. */
  readonly cycleRatio?: Spread | undefined;
  readonly serverCpuMsPer1000?: number | undefined;
  readonly loadCpuMsPer1000?: number | undefined;
  /** How much of a core the load generator used, of several the busiest. */
  readonly loadShare?: number | undefined;
  /** How much of a core the server used; more than 1 where it has more than one. */
  readonly serverShare?: number | undefined;
  /** Load generators that shared the clients. */
  readonly loaders?: number;
  readonly figures?: Figures;
}

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly loadAtStart: number;
}

export interface Results {
  readonly startedAt: string;
  readonly commit: string;
  readonly command: string;
  readonly machine: Machine;
  readonly scenarios: readonly Scenario[];
  readonly rounds: number;
  readonly sliceMs: number;
  /** Absent from files that are older than the option: 1. */
  readonly loaders?: number;
  readonly rows: readonly Row[];
  readonly notes: readonly string[];
}
