import { expect, test } from "vitest";
import { leftMs } from "../../bench/harness/progress.ts";

const plannedMs = 600_000;

test("before anything is over the plan is believed, and time that passes is taken from it", () => {
  expect(leftMs({ passedMs: 0, plannedMs, doneMs: 0, sinceMs: 0 })).toBe(600_000);
  expect(leftMs({ passedMs: 5_000, plannedMs, doneMs: 0, sinceMs: 5_000 })).toBe(595_000);
});

test("a machine that takes longer for the same is expected to go on like that", () => {
  const left = leftMs({ passedMs: 400_000, plannedMs, doneMs: 300_000, sinceMs: 0 });
  expect(left / 400_000).toBeGreaterThan(0.95);
  expect(left / 400_000).toBeLessThan(1);
});

test("a first step that takes long does not yet speak for all the others", () => {
  expect(leftMs({ passedMs: 4_000, plannedMs, doneMs: 2_000, sinceMs: 0 })).toBeLessThan(1.1 * 598_000);
});

test("a last step that takes longer than planned leaves nothing, and not less", () => {
  expect(leftMs({ passedMs: 630_000, plannedMs, doneMs: 590_000, sinceMs: 40_000 })).toBe(0);
});
