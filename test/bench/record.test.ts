import { describe, expect, test } from "vitest";
import { type Granted, Record } from "../../bench/load/record.ts";
import { Times } from "../../bench/load/summary.ts";

function grant(client: number, atNs: number, rest: Partial<Granted> = {}): Granted {
  const plain = {
    key: "k",
    isShared: false,
    limit: undefined,
    ask: 0,
    askedAtNs: 0,
    wantedAtNs: 0,
    ticket: undefined,
    fence: undefined,
    isTimed: true,
  };
  return { client, atNs, ...plain, ...rest };
}

test("two who hold an exclusive lock at once are a violation, one after the other are none", () => {
  const record = new Record(2, false);
  const first = grant(0, 10);
  record.granted(first);
  record.releasing(first, 20);
  record.granted(grant(1, 30));
  expect(record.violations).toBe(0);
  record.granted(grant(0, 40));
  expect(record.violations).toBe(1);
});

test("readers hold together, but not beside a writer, and never more than the limit", () => {
  const record = new Record(3, false);
  const reader = { isShared: true, limit: 2 };
  record.granted(grant(0, 10, reader));
  record.granted(grant(1, 11, reader));
  expect(record.violations).toBe(0);
  record.granted(grant(2, 12, reader));
  expect(record.violations).toBe(1);
  record.granted(grant(2, 13));
  expect(record.violations).toBe(2);
});

test("a hand-off runs from the release to the next grant, for those who waited when it was released", () => {
  const record = new Record(2, false);
  const first = grant(0, 10);
  record.granted(first);
  record.releasing(first, 100);
  const second = grant(1, 140, { askedAtNs: 50 });
  record.granted(second);
  record.releasing(second, 200);
  record.granted(grant(0, 900, { askedAtNs: 850 }));
  expect(record.scores).toEqual([40]);
});

test("a hand-off from a holder that was cut is told apart from one by release", () => {
  const record = new Record(2, false);
  const first = grant(0, 10);
  record.granted(first);
  record.releasing(first, 100, true);
  const second = grant(1, 170, { askedAtNs: 50 });
  record.granted(second);
  record.releasing(second, 200);
  record.granted(grant(0, 240, { askedAtNs: 150 }));
  expect(record.cutScores).toEqual([70]);
  expect(record.scores).toEqual([40]);
  expect(record.cutHandOffs.summary()?.count).toBe(1);
  expect(record.handOffs.summary()?.count).toBe(1);
  expect(record.scoresOf("crash")).toEqual([70]);
});

test("a wait runs from when the lock was wanted, though the asking came late", () => {
  const record = new Record(1, true);
  record.granted(grant(0, 1_000, { wantedAtNs: 100, askedAtNs: 900 }));
  expect(record.scores).toEqual([900]);
  expect(record.waits.summary()?.max).toBe(900);
});

test("starved are those who got nothing, less those for whom there was nothing", () => {
  const starvedOf = (clients: number, ...holders: readonly number[]): number => {
    const record = new Record(clients, false);
    for (const client of holders) record.granted(grant(client, 10));
    return record.fairness().starved;
  };
  expect(starvedOf(3, 0, 1, 2)).toBe(0);
  expect(starvedOf(3, 0, 1)).toBe(0);
  expect(starvedOf(3, 0, 0)).toBe(1);
  expect(starvedOf(3, 0, 0, 0)).toBe(2);
});

test("tickets that are granted out of order are counted, apart from asks that arrived out of order", () => {
  const record = new Record(1, false);
  for (const [ticket, ask] of [
    [1, 2],
    [3, 0],
    [2, 1],
  ] as const) {
    const granted = grant(0, 10, { ticket, ask });
    record.granted(granted);
    record.releasing(granted, 20);
  }
  const { orderInversions, arrivalInversions } = record.fairness();
  expect(orderInversions).toBe(1);
  expect(arrivalInversions).toBe(3);
});

test("what was granted first is told by the fence, not by the order in which the news were read", () => {
  const record = new Record(2, false);
  record.granted(grant(1, 10, { isShared: true, ticket: 2, fence: 12 }));
  record.granted(grant(0, 11, { isShared: true, ticket: 1, fence: 11 }));
  expect(record.fairness().orderInversions).toBe(0);
});

/** One after the other, each before the next. */
function inTurn(record: Record, holders: readonly number[], rest: Partial<Granted> = {}): void {
  for (const [index, client] of holders.entries()) {
    const granted = grant(client, index * 10, rest);
    record.granted(granted);
    record.releasing(granted, index * 10 + 5);
  }
}

test("fences of those who hold alone must rise, key by key, and readers may hear of theirs in any order", () => {
  const record = new Record(2, false);
  inTurn(record, [0], { fence: 5 });
  inTurn(record, [1], { fence: 6 });
  inTurn(record, [0], { key: "another", fence: 1 });
  inTurn(record, [0], { isShared: true, fence: 2 });
  expect(record.violations).toBe(0);
  inTurn(record, [1], { fence: 6 });
  expect(record.violations).toBe(1);
});

test("a grant at once, asked for when somebody had been told to wait who was granted later, is out of order", () => {
  const inversionsOf = (sentAtNs: number, fence: number): number | null => {
    const record = new Record(2, false);
    inTurn(record, [0], { ticket: 1, fence: 10, queuedAtNs: 100 });
    inTurn(record, [1], { sentAtNs, fence });
    return record.fairness().orderInversions;
  };
  expect(inversionsOf(101, 9)).toBe(1);
  // It cannot know who was first, or was granted afterwards.
  expect(inversionsOf(100, 9)).toBe(0);
  expect(inversionsOf(101, 11)).toBe(0);
});

test("each grant that overtakes counts once, whoever else was in line, and each key for itself", () => {
  const record = new Record(4, false);
  for (const key of ["k", "another"]) {
    inTurn(record, [0], { key, sentAtNs: 50, fence: 1 });
    inTurn(record, [1, 1], { key, sentAtNs: 150, fence: 2 });
    inTurn(record, [2], { key, ticket: 1, fence: 3, queuedAtNs: 100 });
    inTurn(record, [3], { key, ticket: 2, fence: 4, queuedAtNs: 120 });
  }
  expect(record.fairness().orderInversions).toBe(4);
});

test("inversions are counted key by key, and all of them", () => {
  const record = new Record(1, false);
  for (const key of ["k", "another"]) for (const ticket of [3, 2, 1]) inTurn(record, [0], { key, ticket });
  inTurn(record, [0], { key: "a third", ticket: 0 });
  expect(record.fairness().orderInversions).toBe(6);
  expect(new Record(1, false).fairness().orderInversions).toBeNull();
});

test("the shares of those who let go and hold again, of the most and of the least are told, and who returns when on the hottest key", () => {
  const record = new Record(3, false);
  inTurn(record, [2], { key: "cold" });
  inTurn(record, [0, 0, 0, 1, 2, 0]);
  const { grants, selfShare, maxByMin, returnsAfter, distinct, relativeDeviation } = record.fairness();
  expect(grants).toEqual([4, 1, 2]);
  // Of five that came after a release.
  expect(selfShare).toBe(2 / 5);
  expect(maxByMin).toBe(4);
  // After 1, 1 and 3 grants.
  expect(returnsAfter).toBe(1);
  // 1, 2, 3 and 3 in three grants.
  expect(distinct).toBe(9 / 4);
  expect(relativeDeviation).toBeCloseTo(0.5345, 4);
  inTurn(
    record,
    [0, 1, 2, 0, 1, 2, 0, 1, 2].flatMap((client) => [client, client]),
  );
  expect(record.fairness().selfShare).toBe((2 + 1 + 9) / (5 + 18));
});

test("nobody's share is the most by the least where somebody got nothing", () => {
  const record = new Record(2, false);
  inTurn(record, [0, 0]);
  expect(record.fairness().maxByMin).toBeNull();
});

test("who is granted after the last turn is judged, and has no share of it", () => {
  const record = new Record(2, false);
  inTurn(record, [0, 0, 0], { ticket: 2, fence: 2 });
  record.end();
  inTurn(record, [1], { ticket: 1, fence: 3 });
  record.granted(grant(0, 90, { ticket: 4, fence: 4 }));
  record.granted(grant(1, 91, { ticket: 5, fence: 5 }));
  const { grants, starved, selfShare, orderInversions } = record.fairness();
  expect([grants, starved, selfShare]).toEqual([[3, 0], 1, 1]);
  expect(orderInversions).toBe(3);
  // Two at once, and a fence twice on the way.
  expect(record.violations).toBe(1 + 2);
});

test("a warm-up leaves no times behind, but what must not have happened, and what everybody had", () => {
  const record = new Record(2, false);
  const [first, second] = [grant(0, 10), grant(1, 30, { askedAtNs: 15 })];
  record.granted(first);
  record.releasing(first, 20, true);
  record.granted(second);
  record.releasing(second, 40);
  record.granted(grant(0, 50, { askedAtNs: 35 }));
  record.granted(grant(1, 60));
  const counts = (): unknown[] =>
    [record.handOffs, record.cutHandOffs, record.waits].map((times) => times.summary()?.count);
  expect(counts()).toEqual([1, 1, 4]);
  record.forgetTimes();
  expect(counts()).toEqual([undefined, undefined, undefined]);
  expect(record.violations).toBe(1);
  expect(record.fairness().grants).toEqual([2, 2]);
});

test("a timeline tells of the last turn who held, from when to when, ms", () => {
  const record = new Record(2, false);
  inTurn(record, [0]);
  record.beginSlice();
  const granted = grant(1, 3e6);
  record.granted(granted);
  record.releasing(granted, 4e6);
  expect(record.timeline).toEqual([[1, 3, 4]]);
});

describe("a summary", () => {
  test("has the percentiles that it says, to three digits", () => {
    const times = new Times();
    for (let us = 1; us <= 10_000; us++) times.add(us * 1000);
    const summary = times.summary();
    expect(summary?.count).toBe(10_000);
    const { p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0, curve = [] } = summary ?? {};
    for (const [ns, us] of [
      [p50, 5_000],
      [p90, 9_000],
      [p99, 9_900],
      [p999, 9_990],
      [max, 10_000],
    ] as const) {
      expect(Math.abs(ns / (us * 1000) - 1)).toBeLessThan(0.001);
    }
    for (const [share, ns] of curve) expect(ns / 10_000e3).toBeCloseTo(share, 2);
    expect(curve.at(-1)).toEqual([1, max]);
    expect(new Times().summary()).toBeNull();
  });

  test("holds times from 1 ns to 10 minutes as they are, and longer ones as 10 minutes", () => {
    const worst = (ns: number): number => {
      const times = new Times();
      times.add(ns);
      return times.summary()?.max ?? Number.NaN;
    };
    expect([1, 0, 600e9, 600e9 + 1].map(worst)).toEqual([1, 1, 600e9, 600e9]);
  });

  test("keeps the percentiles of long times apart, and none above the longest", () => {
    const times = new Times();
    for (let s = 1; s <= 599; s++) times.add(s * 1e9);
    const summary = times.summary();
    const { p50 = 0, p90 = 0 } = summary ?? {};
    expect([p50 / 300e9, p90 / 540e9].map((off) => Math.abs(off - 1) < 0.002)).toEqual([true, true]);
    expect(summary?.max).toBe(599e9);
    const few = new Times();
    for (const ns of [8_768_123, 8_768_124]) few.add(ns);
    expect(few.summary()).toMatchObject({ p99: 8_768_124, p999: 8_768_124, max: 8_768_124 });
  });
});

test("fairness among few grants is left open, unless it is worse than one more or less can make it", () => {
  const fairnessOf = (grants: readonly number[]): number | null => {
    const record = new Record(grants.length, false);
    for (const [client, count] of grants.entries()) {
      for (let i = 0; i < count; i++) {
        const granted = grant(client, i);
        record.granted(granted);
        record.releasing(granted, i);
      }
    }
    return record.fairness().jain;
  };
  expect(fairnessOf([15, 16])).toBeNull();
  expect(fairnessOf([16, 17])).toBeGreaterThan(0.999);
  expect(fairnessOf([4, 5])).toBeNull();
  expect(fairnessOf([1, 8])).toBeLessThan(0.7);
});
