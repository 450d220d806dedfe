import { expect, test } from "vitest";
import { leftMs, type Share } from "../../bench/harness/progress.ts";

function share(plannedMs: number, doneMs = 0, tookMs = 0): Share {
  return { plannedMs, doneMs, tookMs };
}

test("before anything is over the plan is believed, and time that passes is taken from it", () => {
  const shares = { turns: share(400_000), work: share(200_000) };
  expect(leftMs(shares, 0)).toBe(600_000);
  expect(leftMs(shares, 5_000)).toBe(595_000);
});

test("work that takes three times as long on a busy machine is expected to go on like that, and turns as planned", () => {
  const shares = { turns: share(400_000, 200_000, 200_000), work: share(200_000, 100_000, 300_000) };
  const truly = 200_000 + 300_000;
  expect(leftMs(shares, 0) / truly).toBeGreaterThan(0.95);
  expect(leftMs(shares, 0) / truly).toBeLessThanOrEqual(1);
});

test("a first step that takes long does not yet speak for all the others", () => {
  const shares = { turns: share(400_000), work: share(200_000, 1_000, 4_000) };
  expect(leftMs(shares, 0)).toBeLessThan(1.15 * 600_000);
});

test("a last step that takes longer than planned leaves nothing, and not less", () => {
  const shares = { turns: share(400_000, 400_000, 400_000), work: share(200_000, 190_000, 190_000) };
  expect(leftMs(shares, 40_000)).toBe(0);
});
