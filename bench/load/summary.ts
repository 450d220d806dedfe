import { build, type Histogram } from "hdr-histogram-js";
import type { Summary } from "./job.ts";

const SHARES = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999] as const;

const LEAST_NS = 1;
const MOST_NS = 600e9;

/** Times in ns, from 1 ns to 10 minutes, with three digits, but for the longest, which is told as it is. */
export class Times {
  #maxNs = 0;
  readonly #histogram: Histogram = build({
    lowestDiscernibleValue: LEAST_NS,
    highestTrackableValue: MOST_NS,
    numberOfSignificantValueDigits: 3,
    useWebAssembly: false,
  });

  add(ns: number): void {
    const tracked = Math.min(MOST_NS, Math.max(LEAST_NS, Math.round(ns)));
    this.#maxNs = Math.max(this.#maxNs, tracked);
    this.#histogram.recordValue(tracked);
  }

  summary(): Summary | null {
    const histogram = this.#histogram;
    if (histogram.totalCount === 0) return null;
    const max = this.#maxNs;
    // A percentile is the upper end of where it lies, which may be above all that there was.
    const at = (share: number): number => Math.min(max, histogram.getValueAtPercentile(share * 100));
    return {
      count: histogram.totalCount,
      p50: at(0.5),
      p90: at(0.9),
      p99: at(0.99),
      p999: at(0.999),
      max,
      curve: [...SHARES.map((share) => [share, at(share)] as const), [1, max]],
    };
  }
}
