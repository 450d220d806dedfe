/** The arithmetic of the benchmark: pure functions with known answers. */

/** Jain's index of fairness: 1 when all got the same, 1 ÷ n when one got everything. */
export function jain(counts: readonly number[]): number {
  let sum = 0;
  let squares = 0;
  for (const count of counts) {
    sum += count;
    squares += count * count;
  }
  return squares === 0 ? Number.NaN : (sum * sum) / (counts.length * squares);
}

/** Jain's index when so many grants are shared out as evenly as whole ones can be. */
export function fairestJain(grants: number, clients: number): number {
  const mean = grants / clients;
  const rest = mean % 1;
  return mean ** 2 / (mean ** 2 + rest * (1 - rest));
}

/** Standard deviation ÷ mean. */
export function relativeDeviation(counts: readonly number[]): number {
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / counts.length;
  return Math.sqrt(variance) / mean;
}

/** How many pairs stand in the wrong order: 0 for a rising sequence, n(n−1)/2 for a falling one. */
export function inversions(sequence: readonly number[]): number {
  return sortAndCount([...sequence]).count;
}

/** The value below which this share of the sorted sample lies; NaN for an empty one. */
export function quantile(sample: readonly number[], share: number): number {
  if (sample.length === 0) return Number.NaN;
  const sorted = sample.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** The middle one, or the mean of the two in the middle. */
export function median(sample: readonly number[]): number {
  if (sample.length === 0) return Number.NaN;
  const sorted = sample.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Infinite and missing values are left out; undefined when nothing is left. */
export function spread(sample: readonly number[]): Spread | undefined {
  const finite = sample.filter((value) => Number.isFinite(value));
  if (finite.length === 0) return undefined;
  return { median: median(finite), min: Math.min(...finite), max: Math.max(...finite) };
}

/** For each grant but a client's first: how many grants ago the same client held. Fair among n: always n. */
export function returns(holders: readonly number[]): number[] {
  const last = new Map<number, number>();
  const gaps: number[] = [];
  for (const [index, holder] of holders.entries()) {
    const before = last.get(holder);
    if (before !== undefined) gaps.push(index - before);
    last.set(holder, index);
  }
  return gaps;
}

/** The mean number of different holders in windows of this many grants. */
export function distinctInWindow(holders: readonly number[], size: number): number {
  if (holders.length < size || size === 0) return Number.NaN;
  const inside = new Map<number, number>();
  let total = 0;
  for (const [index, holder] of holders.entries()) {
    inside.set(holder, (inside.get(holder) ?? 0) + 1);
    const leaving = holders[index - size];
    if (leaving !== undefined) {
      const left = (inside.get(leaving) ?? 0) - 1;
      if (left === 0) inside.delete(leaving);
      else inside.set(leaving, left);
    }
    if (index >= size - 1) total += inside.size;
  }
  return total / (holders.length - size + 1);
}

/** Of the straight line that is nearest to the points (least squares), in units of y for each of x. NaN without two places. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / points.length;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / points.length;
  const together = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return together / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}

/** Cumulative shares by which the ranks of n keys are drawn, the first the most often. */
export function zipf(count: number, exponent: number): readonly number[] {
  const weights = Array.from({ length: count }, (_, rank) => 1 / (rank + 1) ** exponent);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let reached = 0;
  return weights.map((weight) => (reached += weight / total));
}

function sortAndCount(values: number[]): { readonly sorted: number[]; readonly count: number } {
  if (values.length < 2) return { sorted: values, count: 0 };
  const middle = values.length >> 1;
  const left = sortAndCount(values.slice(0, middle));
  const right = sortAndCount(values.slice(middle));
  let count = left.count + right.count;
  const sorted: number[] = [];
  let i = 0;
  let j = 0;
  while (i < left.sorted.length || j < right.sorted.length) {
    const a = left.sorted[i];
    const b = right.sorted[j];
    if (b === undefined || (a !== undefined && a <= b)) {
      sorted.push(a ?? 0);
      i += 1;
    } else {
      sorted.push(b);
      count += left.sorted.length - i;
      j += 1;
    }
  }
  return { sorted, count };
}
