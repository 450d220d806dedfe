import { build, type Histogram } from "hdr-histogram-js";
import type { Summary } from "./job.ts";

const SHARES = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999] as const;

/** Times in ns, from 1 ns to 10 minutes, with three digits. */
export class Times {
  readonly #histogram: Histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: 600e9,
    numberOfSignificantValueDigits: 3,
    useWebAssembly: false,
  });

  add(ns: number): void {
    this.#histogram.recordValue(Math.min(600e9, Math.max(1, Math.round(ns))));
  }

  summary(): Summary | null {
    const histogram = this.#histogram;
    if (histogram.totalCount === 0) return null;
    const at = (share: number): number => histogram.getValueAtPercentile(share * 100);
    return {
      count: histogram.totalCount,
      p50: at(0.5),
      p90: at(0.9),
      p99: at(0.99),
      p999: at(0.999),
      max: histogram.maxValue,
      curve: [...SHARES.map((share) => [share, at(share)] as const), [1, histogram.maxValue]],
    };
  }
}
