import { expect, test } from "vitest";
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

test("a summary's quantiles are right to three digits", () => {
  const times = new Times();
  for (let us = 1; us <= 1000; us++) times.add(us * 1000);
  const summary = times.summary();
  expect(summary?.count).toBe(1000);
  expect((summary?.p50 ?? 0) / 500_000).toBeCloseTo(1, 2);
  expect((summary?.p99 ?? 0) / 990_000).toBeCloseTo(1, 2);
  expect((summary?.max ?? 0) / 1_000_000).toBeCloseTo(1, 2);
  expect(new Times().summary()).toBeNull();
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
