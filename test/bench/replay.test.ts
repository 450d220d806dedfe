import { expect, test } from "vitest";
import { partOf } from "../../bench/harness/loaders.ts";
import { Replay } from "../../bench/harness/replay.ts";
import type { Job } from "../../bench/load/job.ts";
import type { Entry } from "../../bench/load/log.ts";

const MS = 1e6;

function hold(
  client: number,
  fromMs: number,
  toMs: number,
  rest: {
    readonly isShared?: boolean;
    readonly limit?: number;
    readonly fence?: number;
    readonly askedMs?: number;
  } = {},
): Entry[] {
  const { askedMs = 0, isShared = false, ...numbers } = rest;
  return [
    { client, key: "k", isShared, ...numbers, askedAtNs: askedMs * MS, atNs: fromMs * MS },
    { client, key: "k", releasedAtNs: toMs * MS },
  ];
}

function violations(...entries: readonly Entry[]): number {
  const replay = new Replay(4, false);
  replay.slice(entries, 0, 100);
  return replay.record.violations;
}

test("holds of two processes that overlap on the common clock are a violation, those that touch are none", () => {
  expect(violations(...hold(0, 10, 20), ...hold(1, 20, 30))).toBe(0);
  expect(violations(...hold(0, 10, 20), ...hold(1, 19, 30))).toBe(1);
});

test("the order in which the processes tell what they saw does not matter", () => {
  expect(violations(...hold(1, 30, 40), ...hold(0, 10, 20), ...hold(1, 20, 25))).toBe(0);
  expect(violations(...hold(1, 19, 30), ...hold(0, 10, 20))).toBe(1);
});

test("readers of several processes hold together up to their limit, and not beside a writer", () => {
  const reader = { isShared: true, limit: 2 };
  expect(violations(...hold(0, 10, 20, reader), ...hold(1, 12, 22, reader), ...hold(2, 20, 30, reader))).toBe(0);
  expect(violations(...hold(0, 10, 20, reader), ...hold(1, 12, 22, reader), ...hold(2, 19, 30, reader))).toBe(1);
  expect(violations(...hold(0, 10, 20, reader), ...hold(1, 15, 16))).toBe(1);
});

test("a fence that does not rise from one exclusive holder to the next is a violation, also where the holds do not overlap", () => {
  const fenced = (...fences: readonly number[]) =>
    violations(...fences.flatMap((fence, index) => hold(index, 10 * index, 10 * index + 5, { fence })));
  expect(fenced(1, 2, 3)).toBe(0);
  expect(fenced(1, 2, 2)).toBe(1);
  expect(fenced(2, 1, 3)).toBe(1);
});

test("a hand-off from one process to another takes as long as their common clock says", () => {
  const replay = new Replay(2, false);
  const told = replay.slice([...hold(0, 10, 20), ...hold(1, 23, 30, { askedMs: 15 })], 0, 100);
  expect(told).toEqual({ cycles: 2, scoreNs: 3 * MS });
});

test("a cycle of a client with a key of its own runs from its asking to its grant", () => {
  const replay = new Replay(1, true);
  expect(replay.slice(hold(0, 17, 20, { askedMs: 12 }), 10, 100).scoreNs).toBe(5 * MS);
});

test("between slices time stands still, and what is granted then counts for no slice", () => {
  const replay = new Replay(3, false);
  const [granted, released] = hold(1, 105, 1_002, { askedMs: 50 }) as [Entry, Entry];
  expect(replay.slice([...hold(0, 10, 99), granted], 0, 100).cycles).toBe(1);
  const told = replay.slice([released, ...hold(2, 1_004, 1_010, { askedMs: 60 })], 1_000 * MS, 100);
  expect(told).toEqual({ cycles: 1, scoreNs: 2 * MS });
  // From 60 ms to the end of the first slice, and 4 ms of the second.
  expect(replay.record.waits.summary()?.max).toBeCloseTo(44 * MS, -5);
  expect(replay.record.violations).toBe(0);
});

test("a release that no grant came before is a fault of the benchmark, and said", () => {
  const [, released] = hold(0, 10, 20) as [Entry, Entry];
  expect(() => violations(released)).toThrow("without a grant");
});

const job: Job = {
  driver: "ws-raw",
  target: { url: "", row: "row", keys: ["a", "b", "c", "d", "e"] },
  scenario: {
    name: "any",
    shape: "cycles",
    clients: 5,
    keys: "hot",
    holdMs: 0,
    readers: 3,
    limit: undefined,
    floor: "relay",
  },
  serverPid: undefined,
};

test("load generators share out all clients, and as many readers as there are", () => {
  const parts = [0, 1].map((index) => partOf(job, index, 2).scenario);
  expect(parts.map(({ clients, readers }) => [clients, readers])).toEqual([
    [2, 2],
    [3, 1],
  ]);
});

test("only the first lays out keys that all share; each lays out keys of its own", () => {
  const own: Job = { ...job, scenario: { ...job.scenario, keys: "own" } };
  const targets = (of: Job) => [0, 1].map((index) => partOf(of, index, 2).target);
  expect(targets(job).map(({ isLaidOut }) => isLaidOut)).toEqual([false, true]);
  expect(targets(own).map(({ keys, isLaidOut }) => [keys, isLaidOut])).toEqual([
    [["a", "b"], false],
    [["c", "d", "e"], false],
  ]);
});
