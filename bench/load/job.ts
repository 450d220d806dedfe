/** What the harness and a load generator tell each other: JSON, a line each. */

import type { Target } from "../drivers/driver.ts";
import type { Scenario } from "../scenarios.ts";
import type { Entry } from "./log.ts";

export interface Job {
  readonly driver: string;
  readonly target: Target;
  readonly scenario: Scenario;
  /** Of the server, whose memory the storm looks at. */
  readonly serverPid: number | undefined;
  /** Whether this is one of several load generators, and tells all that it sees. */
  readonly isLogged?: boolean;
}

export type Order =
  | { readonly do: "prepare"; readonly job: Job }
  /** `atNs`: when to begin, on the machine's clock; at once without it. */
  | { readonly do: "slice"; readonly ms: number; readonly isWarmUp: boolean; readonly atNs?: number | undefined }
  | { readonly do: "figures" }
  /** Of a row: its connections are closed, and the next one can be prepared. */
  | { readonly do: "end" };

/** One turn at the machine. */
export interface Slice {
  readonly windowMs: number;
  readonly cycles: number;
  /** The median of what the scenario is about, ns: hand-off, wait (own keys, open loop), pass (drain), drop → next. Null: there was none. */
  readonly scoreNs: number | null;
  /** For shapes that bring their own floor: its median, ns. */
  readonly againstNs?: number;
  /** What the load generator itself took of its core. */
  readonly loadCpuMs: number;
  readonly soak?: SoakSlice;
  /** What it saw, where it is one of several. */
  readonly log?: readonly Entry[];
}

export interface Summary {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** For the picture: [share of the samples, ns]. */
  readonly curve: readonly (readonly [number, number])[];
}

export interface Fairness {
  readonly grants: readonly number[];
  /** Null: too few grants to tell. */
  readonly jain: number | null;
  readonly relativeDeviation: number;
  readonly maxByMin: number | null;
  /** Clients that got nothing although there were grants enough for all. */
  readonly starved: number;
  readonly selfShare: number;
  /** Median number of grants until the same client holds again. */
  readonly returnsAfter: number | null;
  /** Mean number of holders in as many grants as there are clients. */
  readonly distinct: number | null;
  /** Null: the service tells no tickets. */
  readonly orderInversions: number | null;
  /** How the service's tickets differ from the order of sending. */
  readonly arrivalInversions: number | null;
}

export interface Storm {
  readonly sessions: number;
  readonly acquireMs?: number;
  readonly grantedOnMs?: number;
  readonly emptyMs?: number;
  readonly bytesPerSession?: number;
  readonly bytesPerHolder?: number;
  readonly bytesPerWaiter?: number;
}

/** Sessions that are all cut and all connect again. */
export interface Reconnect {
  readonly sessions: number;
  /** Until each of them held its key for the first time, ms. */
  readonly firstMs: number;
  /** From the first cut until each of them held it again, ms. */
  readonly againMs: number;
  /** What the server knew of right afterwards: nothing of the sessions before. */
  readonly left: Gauges;
}

/** What a server knows of. */
export interface Gauges {
  readonly sessions: number;
  readonly keys: number;
  readonly holding: number;
  readonly waiting: number;
}

/** The part of a soak since the last one. */
export interface SoakSlice {
  /** From the end of a lease to the moment the next in line had the lock; null: none ended. */
  readonly lateness: Summary | null;
  /** How late the load generator's own timers were meanwhile. */
  readonly ownLateness: Summary | null;
  /** Leases that were ended before their time. */
  readonly early: number;
  readonly crashes: number;
  readonly violations: number;
}

/** Client, from, to: who held when, ms. */
export type Hold = readonly [number, number, number];

export interface Figures {
  /** After a release. */
  readonly handOff: Summary | null;
  /** After the holder was cut; null where nobody is. */
  readonly cutHandOff: Summary | null;
  readonly wait: Summary | null;
  readonly fairness: Fairness | null;
  readonly violations: number;
  /** All of them, the warm-up included. */
  readonly grants: number;
  /** That the clients read and wrote, heads of frames and of HTTP included; null: nothing, or unknown. */
  readonly bytesPerCycle: number | null;
  readonly timeline: readonly Hold[];
  readonly storm: Storm | null;
  readonly reconnect: Reconnect | null;
  /** Of an open loop: from when a client should have asked to when it did. */
  readonly sendLateness: Summary | null;
}

export type Reply =
  | { readonly ok: true; readonly slice?: Slice; readonly figures?: Figures }
  | { readonly ok: false; readonly error: string };
