import { expect, test } from "vitest";
import { restOf, judge, pauseOf } from "../../bench/idempotency/pauses.ts";
import type { Taken } from "../../bench/idempotency/stopwatch.ts";
import { lines } from "../../bench/idempotency/words.ts";

const MAX_MS = 5;

function taken(wall: number, own: number | undefined, core: number): Taken {
  return { wall, own, core };
}

/** As many as a million records take, and all of them quick. */
const QUICK: readonly Taken[] = Array.from({ length: 7813 }, () => taken(1, 0.75, 0.125));

test("a sweep whose calls are quick holds", () => {
  expect(judge(QUICK, MAX_MS)).toMatchObject({ holds: true, count: 7813, longest: 0.875, over: [], overWall: 0 });
});

test("one call of thousands that works for too long is enough not to hold, and is told", () => {
  const slow = taken(20, 20, 0);
  const judged = judge([...QUICK, slow], MAX_MS);
  expect(judged).toMatchObject({ holds: false, over: [slow], longest: 20 });
  expect(lines("a call", judged).join("\n")).toContain(
    "20.0 ms: work 20.0, disk and other waits 0.0; and 0.0 for a core",
  );
});

test("a wait for the disk is a pause as any other", () => {
  const slow = taken(7, 0.5, 0.5);
  expect(pauseOf(slow)).toBe(6.5);
  expect(restOf(slow)).toBe(6);
  expect(judge([...QUICK, slow], MAX_MS)).toMatchObject({ holds: false, over: [slow] });
});

test("a wait for a core that others have is none, and is told nevertheless", () => {
  const judged = judge([...QUICK, taken(40, 1, 38)], MAX_MS);
  expect(judged).toMatchObject({ holds: true, longest: 2, longestWall: 40, over: [], overWall: 1 });
  expect(lines("a call", judged)[0]).toContain("with waits for a core 40.0, 1");
});

test("a wait for a core does not excuse the rest of a call", () => {
  expect(judge([...QUICK, taken(46, 8, 38)], MAX_MS)).toMatchObject({ holds: false, longest: 8 });
});

test("where the kernel tells nothing, all of the time counts", () => {
  expect(judge([taken(6, undefined, 0)], MAX_MS)).toMatchObject({ holds: false, longest: 6 });
  expect(restOf(taken(6, undefined, 0))).toBeUndefined();
});

test("a pause may be as long as the limit, and no longer", () => {
  expect(judge([taken(5, 5, 0)], MAX_MS).holds).toBe(true);
  expect(judge([taken(5.001, 5, 0)], MAX_MS).holds).toBe(false);
});

test("nothing holds that was not measured", () => {
  expect(judge([], MAX_MS).holds).toBe(false);
  expect(judge([taken(Number.NaN, 1, 0)], MAX_MS).holds).toBe(false);
});

test("the longest is told first, and the others after it", () => {
  const judged = judge([taken(6, 6, 0), ...QUICK, taken(9, 9, 0)], MAX_MS);
  expect(judged.over.map(pauseOf)).toEqual([9, 6]);
});
