import { expect, test } from "vitest";
import { schedule } from "../../bench/load/schedule.ts";

/** The same numbers each time, evenly spread (a linear congruence). */
function drawn(): () => number {
  let state = 1;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

function gaps(times: readonly number[]): number[] {
  return times.map((time, index) => time - (times[index - 1] ?? 0));
}

test("fixed arrivals come evenly, and none at the end of the time", () => {
  expect([...schedule("fixed", 1_000, 4_000_000)]).toEqual([1_000_000, 2_000_000, 3_000_000]);
  expect([...schedule("fixed", 1_000, 4_000_001)]).toHaveLength(4);
});

test("fixed arrivals at a rate whose gap is no whole number do not drift", () => {
  const times = [...schedule("fixed", 3, 100e9)];
  expect(times).toHaveLength(299);
  expect(times.at(-1)).toBeCloseTo((299 / 3) * 1e9, 3);
});

test("a gap of Poisson's is −ln(1 − u) of the mean gap", () => {
  const half = (): number => 0.5;
  const [first, second] = schedule("poisson", 1_000, 10e6, half);
  expect(first).toBeCloseTo(Math.LN2 * 1e6, 3);
  expect(second).toBeCloseTo(2 * Math.LN2 * 1e6, 3);
});

test("Poisson's arrivals come at the rate on average, and their gaps spread as widely as their mean", () => {
  const times = [...schedule("poisson", 10_000, 10e9, drawn())];
  expect(times.length / 100_000).toBeCloseTo(1, 1);
  const found = gaps(times);
  const mean = found.reduce((sum, gap) => sum + gap, 0) / found.length;
  const deviation = Math.sqrt(found.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / found.length);
  expect(deviation / mean).toBeCloseTo(1, 1);
  expect(found.every((gap) => gap >= 0)).toBe(true);
  expect(times.at(-1)).toBeLessThan(10e9);
});
