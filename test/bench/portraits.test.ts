import { expect, test } from "vitest";
import type { Row } from "../../bench/harness/results.ts";
import type { Figures, Hold } from "../../bench/load/job.ts";
import { grants, timeline } from "../../bench/report/portraits.ts";
import { NO_FAIRNESS, NO_FIGURES } from "./blank.ts";

function row(counts: readonly number[], holds: readonly Hold[] = []): Row {
  const figures: Figures = { ...NO_FIGURES, fairness: { ...NO_FAIRNESS, grants: counts }, grants: 1, timeline: holds };
  return { scenario: "any", subject: "bun ws-raw", floor: undefined, figures };
}

/** [from, to, top, bottom] of each bar that can be seen. */
function barsIn(drawn: string): number[][] {
  const found = drawn.matchAll(/<rect x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"/g);
  return [...found].flatMap((match) => {
    const [x = 0, y = 0, width = 0, height = 0] = match.slice(1).map(Number);
    return height === 0 ? [] : [[x, x + width, y, y + height]];
  });
}

/** Where the label of a tick stands. */
function placeOf(drawn: string, label: string): number {
  return Number(new RegExp(`<text x="([\\d.]+)"[^>]*text-anchor="middle">${label}<`).exec(drawn)?.[1] ?? Number.NaN);
}

test("as many clients stand over a share as got it, and as high", () => {
  const drawn = grants(row([10, 10, 0, 20, 10, 10]));
  const bars = barsIn(drawn);
  const middles = bars.map(([from = 0, to = 0]) => (from + to) / 2);
  for (const [index, share] of ["0", "1", "2"].entries()) {
    expect(Math.abs((middles[index] ?? Number.NaN) - placeOf(drawn, share))).toBeLessThan(1);
  }
  const heights = bars.map(([, , top = 0, bottom = 0]) => bottom - top);
  expect(heights).toHaveLength(3);
  expect((heights[1] ?? 0) / (heights[0] ?? 0)).toBeCloseTo(4, 1);
  expect(heights[2]).toBe(heights[0]);
});

test("who held when: one after the other from left to right, each client in a line of its own", () => {
  const drawn = timeline(
    row(
      [1, 1],
      [
        [0, 5, 6],
        [1, 6, 8],
      ],
    ),
  );
  const [first = [], second = []] = barsIn(drawn);
  const at = (ms: number): number => placeOf(drawn, `${ms}`);
  expect([first[0], first[1], second[0], second[1]]).toEqual([at(0), at(1), at(1), at(3)]);
  expect(second[2]).toBeGreaterThanOrEqual(first[3] ?? Number.NaN);
});

test("of one client, or of nothing, there is no picture", () => {
  expect([grants(row([3])), grants(row([0, 0])), timeline(row([1, 1], [[0, 1, 2]]))]).toEqual(["", "", ""]);
});
