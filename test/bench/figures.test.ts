import { describe, expect, test } from "vitest";
import {
  distinctInWindow,
  inversions,
  fairestJain,
  jain,
  median,
  quantile,
  relativeDeviation,
  returns,
  slope,
  spread,
  zipf,
} from "../../bench/figures.ts";

describe("fairness", () => {
  test("Jain's index is 1 when all got the same, and 1 ÷ n when one got everything", () => {
    expect(jain([7, 7, 7, 7])).toBe(1);
    expect(jain([12, 0, 0, 0])).toBe(0.25);
    expect(jain([3, 1])).toBe(0.8);
    expect(jain([0, 0])).toBeNaN();
  });

  test("the fairest index is 1 where the grants can be divided, and that of one more or less where not", () => {
    expect(fairestJain(28, 4)).toBe(1);
    expect(fairestJain(6, 4)).toBeCloseTo(jain([2, 2, 1, 1]));
    expect(fairestJain(1, 4)).toBe(0.25);
  });

  test("the relative deviation is the standard deviation in units of the mean", () => {
    expect(relativeDeviation([5, 5, 5])).toBe(0);
    expect(relativeDeviation([2, 6])).toBe(0.5);
  });

  test("among n who take turns everybody returns after n grants, and n are seen in n grants", () => {
    const turns = [0, 1, 2, 0, 1, 2, 0];
    expect(returns(turns)).toEqual([3, 3, 3, 3]);
    expect(distinctInWindow(turns, 3)).toBe(3);
  });

  test("whoever takes the lock again at once returns after one grant", () => {
    const greedy = [0, 0, 0, 0, 1];
    expect(returns(greedy)).toEqual([1, 1, 1]);
    expect(distinctInWindow(greedy, 2)).toBe(1.25);
    expect(distinctInWindow(greedy, 9)).toBeNaN();
  });
});

describe("order", () => {
  test("a rising sequence has no inversions, a falling one has all pairs", () => {
    expect(inversions([1, 2, 3, 4, 5])).toBe(0);
    expect(inversions([5, 4, 3, 2, 1])).toBe(10);
    expect(inversions([])).toBe(0);
  });

  test("each pair in the wrong order counts once, and equals are in order", () => {
    expect(inversions([2, 1, 3])).toBe(1);
    expect(inversions([3, 1, 2])).toBe(2);
    expect(inversions([2, 4, 1, 3, 5])).toBe(3);
    expect(inversions([1, 1, 1])).toBe(0);
  });

  test("counting leaves the sequence as it is", () => {
    const sequence = [3, 1, 2];
    inversions(sequence);
    expect(sequence).toEqual([3, 1, 2]);
  });
});

describe("samples", () => {
  test("the median is the middle one, or the mean of the two in the middle", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  test("a quantile is a value of the sample", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(quantile(hundred, 0)).toBe(1);
    expect(quantile(hundred, 0.99)).toBe(100);
    expect(quantile(hundred, 1)).toBe(100);
    expect(quantile([], 0.5)).toBeNaN();
  });

  test("a spread leaves out what is not known", () => {
    expect(spread([Number.NaN, 3, 1, Number.POSITIVE_INFINITY, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(spread([Number.NaN])).toBeUndefined();
  });

  test("Zipf's shares rise to 1, and the second key is drawn half as often as the first", () => {
    const shares = zipf(4, 1);
    expect(shares.at(-1)).toBeCloseTo(1);
    expect(shares[0]).toBeCloseTo(0.48);
    expect((shares[1] ?? 0) - (shares[0] ?? 0)).toBeCloseTo(0.24);
  });
});

test("the slope is that of the nearest line, and of one place there is none", () => {
  expect(
    slope([
      [0, 1],
      [1, 3],
      [2, 5],
    ]),
  ).toBe(2);
  expect(
    slope([
      [0, 0],
      [1, 3],
      [2, 0],
    ]),
  ).toBe(0);
  expect(slope([[1, 1]])).toBeNaN();
});
