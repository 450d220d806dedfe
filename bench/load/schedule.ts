/** When clients come that do not wait for one another. */

import type { Arrivals } from "../scenarios.ts";

/**
 * The times of the arrivals within `lengthNs`, ns from its beginning, rising. `fixed`: evenly, the first after one gap.
 * `poisson`: each gap is drawn for itself, whatever was before. `random` gives numbers from 0 to below 1.
 */
export function* schedule(
  kind: Arrivals["kind"],
  perSecond: number,
  lengthNs: number,
  random: () => number = Math.random,
): Generator<number, void> {
  const gapNs = 1e9 / perSecond;
  if (kind === "fixed") {
    // Multiplied, not added up: errors of rounding would add up too.
    for (let count = 1; count * gapNs < lengthNs; count++) yield count * gapNs;
    return;
  }
  let atNs = 0;
  while ((atNs += -Math.log(1 - random()) * gapNs) < lengthNs) yield atNs;
}
