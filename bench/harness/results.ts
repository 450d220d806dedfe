/** What a run leaves behind. The shape of bench/out/<run>.json. */

import type { Spread } from "../figures.ts";
import type { Figures, Gauges, Summary } from "../load/job.ts";
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
  readonly soak?: Soak;
}

/** A soak, one sample for each of its intervals. */
export interface Soak {
  readonly samples: readonly SoakSample[];
  readonly verdict: Verdict;
}

export interface SoakSample {
  /** The end of the interval, from the beginning of the soak. */
  readonly atMs: number;
  /** Of the server; undefined for one that runs elsewhere. */
  readonly residentBytes: number | undefined;
  readonly gauges: Gauges;
  readonly cyclesPerSecond: number;
  /** How late the next in line was granted after a lease had ended, ns; null: none ended. */
  readonly lateness: Summary | null;
  /** How late the load generator's own timers were, ns: in a machine that is busy both are. */
  readonly ownLateness: Summary | null;
  readonly early: number;
  readonly crashes: number;
}

export interface Drift {
  readonly first: number;
  readonly last: number;
}

export interface Verdict {
  /** The slope through the second half, when what is filled once has been filled. */
  readonly bytesPerHour: number | undefined;
  /** Even the least of the last quarter is above the most of the one before. Undefined: too short to tell. */
  readonly isGrowing: boolean | undefined;
  /** p99 of the lateness: the medians of the first and of the last quarter of the samples, ns. */
  readonly latenessNs: Drift | undefined;
  /** The same of the load generator's own timers. */
  readonly ownLatenessNs: Drift | undefined;
  readonly early: number;
}

/** How long a scenario took, and who could have taken part in it, but did not by default. */
export interface ScenarioTime {
  readonly scenario: string;
  readonly plannedMs: number;
  readonly tookMs: number;
  readonly leftOut: readonly string[];
}

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly loadAtStart: number;
  /** The server has a core to itself, the load generators the others. */
  readonly pinned: boolean;
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
  /** Absent from files that are older than it, and from soaks. */
  readonly scenarioTimes?: readonly ScenarioTime[];
  readonly rows: readonly Row[];
  readonly notes: readonly string[];
}
