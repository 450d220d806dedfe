import { describe, expect, test } from "vitest";
import type { SoakSample } from "../../bench/harness/results.ts";
import { soakTurns } from "../../bench/harness/soak.ts";
import { verdictOf } from "../../bench/harness/verdict.ts";
import type { Summary } from "../../bench/load/job.ts";

const MINUTE_MS = 60_000;

function lateBy(ns: number): Summary {
  return { count: 1, p50: ns, p90: ns, p99: ns, p999: ns, max: ns, curve: [] };
}

/** One a minute, of which memory and lateness are given. */
function samples(bytes: readonly number[], lateNs: readonly number[] = []): SoakSample[] {
  return bytes.map((residentBytes, index) => ({
    atMs: (index + 1) * MINUTE_MS,
    residentBytes,
    gauges: { sessions: 0, keys: 0, holding: 0, waiting: 0 },
    cyclesPerSecond: 0,
    lateness: lateNs[index] === undefined ? null : lateBy(lateNs[index]),
    early: 0,
    crashes: 0,
  }));
}

describe("memory", () => {
  test("its growth is that of the second half, per hour", () => {
    const filling = [0, 500, 900, 1_000, 1_010, 1_020, 1_030, 1_040];
    expect(verdictOf(samples(filling)).bytesPerHour).toBeCloseTo(10 * 60, 6);
  });

  test("it grows when the last quarter never comes down to the one before", () => {
    const steps = [...Array.from({ length: 9 }, () => 1_000), 1_001, 1_001, 1_001];
    expect(verdictOf(samples(steps)).isGrowing).toBe(true);
    expect(verdictOf(samples([...steps.slice(0, 11), 1_000])).isGrowing).toBe(false);
  });

  test("nothing is said of less than ten minutes", () => {
    const rising = Array.from({ length: 10 }, (_, minute) => minute);
    expect(verdictOf(samples(rising)).isGrowing).toBe(true);
    expect(verdictOf(samples(rising.slice(0, 9))).isGrowing).toBeUndefined();
  });
});

test("timers drift from what they were in the first quarter to what they are in the last", () => {
  const memory = Array.from({ length: 8 }, () => 1);
  const { latenessNs } = verdictOf(samples(memory, [10, 20, 99, 99, 99, 99, 50, 60]));
  expect(latenessNs).toEqual({ first: 15, last: 55 });
  expect(verdictOf(samples(memory)).latenessNs).toBeUndefined();
});

test("a soak is looked at sixty times, but not more often than each second", () => {
  expect(soakTurns(60 * MINUTE_MS)).toEqual({ intervals: 60, intervalMs: MINUTE_MS });
  expect(soakTurns(MINUTE_MS)).toEqual({ intervals: 60, intervalMs: 1_000 });
  expect(soakTurns(10_000)).toEqual({ intervals: 10, intervalMs: 1_000 });
});
