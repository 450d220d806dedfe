import { describe, expect, test } from "vitest";
import type { Row, SoakSample } from "../../bench/harness/results.ts";
import { soakTurns } from "../../bench/harness/soak.ts";
import { verdictOf } from "../../bench/harness/verdict.ts";
import type { Figures, Summary } from "../../bench/load/job.ts";
import { endOfLease } from "../../bench/load/lease.ts";
import { soakHead, soakLine, verdictLine } from "../../bench/report/soak.ts";
import { NO_FIGURES } from "./blank.ts";

const MINUTE_MS = 60_000;

const FIGURES: Figures = { ...NO_FIGURES, grants: 1 };

/** Only the p99 is that long. */
function lateBy(ns: number): Summary {
  return { count: 1, p50: ns / 2, p90: ns / 2, p99: ns, p999: 2 * ns, max: 3 * ns, curve: [] };
}

/** One a minute, of which memory and lateness are given. */
function samples(bytes: readonly number[], lateNs: readonly number[] = []): SoakSample[] {
  return bytes.map((residentBytes, index) => ({
    atMs: (index + 1) * MINUTE_MS,
    residentBytes,
    gauges: { sessions: 0, keys: 0, holding: 0, waiting: 0 },
    cyclesPerSecond: 0,
    lateness: lateNs[index] === undefined ? null : lateBy(lateNs[index]),
    ownLateness: lateNs[index] === undefined ? null : lateBy(lateNs[index] / 10),
    early: index === 1 ? 2 : 1,
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
  const { latenessNs, ownLatenessNs, early } = verdictOf(samples(memory, [10, 20, 99, 99, 99, 99, 50, 60]));
  expect(latenessNs).toEqual({ first: 15, last: 55 });
  expect(ownLatenessNs).toEqual({ first: 1.5, last: 5.5 });
  expect(early).toBe(9);
  expect(verdictOf(samples(memory)).latenessNs).toBeUndefined();
});

test("a soak is looked at sixty times, but not more often than each second", () => {
  expect(soakTurns(60 * MINUTE_MS)).toEqual({ intervals: 60, intervalMs: MINUTE_MS });
  expect(soakTurns(MINUTE_MS)).toEqual({ intervals: 60, intervalMs: 1_000 });
  expect(soakTurns(10_000)).toEqual({ intervals: 10, intervalMs: 1_000 });
});

describe("a lease", () => {
  const TTL = { askedAtNs: 0, heldAtNs: 5e6, ttlMs: 100 };

  test("ended early when the next one had the lock before it could have run out, counted from the asking", () => {
    expect(endOfLease({ ...TTL, nextAtNs: 100e6 - 1 }).isEarly).toBe(true);
    expect(endOfLease({ ...TTL, nextAtNs: 100e6 }).isEarly).toBe(false);
  });

  test("is late by what is longer than its time, counted from when its holder heard of it", () => {
    expect(endOfLease({ ...TTL, nextAtNs: 107e6 }).lateNs).toBe(2e6);
    expect(endOfLease({ ...TTL, nextAtNs: 104e6 }).lateNs).toBe(0);
  });
});

describe("a soak in a terminal", () => {
  const MIB = 2 ** 20;
  const sample: SoakSample = {
    atMs: 3_661_000,
    residentBytes: 12.5 * MIB,
    gauges: { sessions: 1, keys: 2, holding: 3, waiting: 4 },
    cyclesPerSecond: 1_234.4,
    lateness: lateBy(2e6),
    ownLateness: lateBy(4e6),
    early: 0,
    crashes: 5,
  };

  test("has each figure under its title", () => {
    const titles = soakHead()
      .trim()
      .split(/\s{2,}/);
    const cells = soakLine("node ws-raw", sample)
      .trim()
      .split(/\s{2,}/);
    expect(Object.fromEntries(cells.slice(2).map((cell, index) => [titles[index + 1], cell]))).toEqual({
      MiB: "12.5",
      sessions: "1",
      keys: "2",
      holding: "3",
      waiting: "4",
      "cycles/s": "1,234",
      cuts: "5",
      "late p50 ms": "1.00",
      p99: "2.00",
      max: "6.00",
      "own p99": "4.00",
    });
    expect(cells.slice(0, 2)).toEqual(["1:01:01", "node ws-raw"]);
  });

  test("says what memory and timers did, how many leases ended early, and what broke", () => {
    const verdict = { bytesPerHour: 1.5 * MIB, isGrowing: true, latenessNs: { first: 1e6, last: 2e6 }, early: 3 };
    const row: Row = {
      scenario: "soak",
      subject: "node ws-raw",
      floor: undefined,
      figures: { ...FIGURES, violations: 4, grants: 5_000 },
      soak: {
        samples: [sample, { ...sample, residentBytes: 25 * MIB }],
        verdict: { ...verdict, ownLatenessNs: { first: 3e6, last: 4e6 } },
      },
    };
    expect(verdictLine(row).split("; ")).toEqual([
      "node ws-raw: memory GROWING, 12.5 → 25.0 MiB, +1.5 MiB an hour in the second half",
      "leases end late by p99 1.00 → 2.00 ms (first and last quarter), and the load generator itself by 3.00 → 4.00 ms",
      "3 early",
      "4 violations",
      "5,000 grants",
      "nothing left behind",
    ]);
    expect(verdictLine({ ...row, invalid: "stuck" })).toBe("node ws-raw: INVALID, stuck");
  });

  test("tells no growth an hour of what was too short to tell", () => {
    const verdict = verdictOf(samples([1, 2, 3, 4, 5].map((mib) => mib * MIB)));
    const row: Row = { scenario: "soak", subject: "bun", floor: undefined, soak: { samples: samples([MIB]), verdict } };
    expect(verdictLine(row)).toMatch(/^bun: memory \(too short to tell growth\), 1\.0 → 1\.0 MiB; /);
  });
});
