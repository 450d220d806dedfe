import { expect, test } from "vitest";
import { spread } from "../../bench/figures.ts";
import type { Results, Row } from "../../bench/harness/results.ts";
import type { Fairness, Figures, Summary } from "../../bench/load/job.ts";
import { allFiguresOf } from "../../bench/report/all-figures.ts";
import { page } from "../../bench/report/page.ts";
import { block, type Cells, cellsOf } from "../../bench/report/table.ts";
import type { Scenario } from "../../bench/scenarios.ts";

/** Times that cannot be taken for one another: p50 of `from` µs, and each next one 1 µs more. */
function times(from: number): Summary {
  const [p50, p90, p99, p999, max] = [0, 1, 2, 3, 4].map((more) => (from + more) * 1000) as [
    number,
    number,
    number,
    number,
    number,
  ];
  return { count: 9, p50, p90, p99, p999, max, curve: [] };
}

const fairness: Fairness = {
  grants: [3, 1, 0],
  jain: 0.5333,
  relativeDeviation: 0.9354,
  maxByMin: null,
  starved: 1,
  selfShare: 0.25,
  returnsAfter: 7,
  distinct: 1.5,
  orderInversions: 6,
  arrivalInversions: 9,
};

const figures: Figures = {
  handOff: times(100),
  cutHandOff: times(200),
  wait: times(300),
  fairness,
  violations: 0,
  grants: 4,
  bytesPerCycle: 345,
  timeline: [],
  storm: {
    sessions: 10,
    acquireMs: 11,
    grantedOnMs: 22,
    emptyMs: 33,
    bytesPerSession: 1024,
    bytesPerHolder: 2048,
    bytesPerWaiter: 3072,
  },
  reconnect: { sessions: 10, firstMs: 44, againMs: 55, left: { sessions: 1, keys: 2, holding: 3, waiting: 4 } },
  sendLateness: times(400),
};

const base: Scenario = {
  name: "any",
  shape: "cycles",
  clients: 3,
  keys: "hot",
  holdMs: 0,
  readers: 0,
  limit: undefined,
  floor: "relay",
};

const row: Row = {
  scenario: "any",
  subject: "bun ws-raw",
  floor: "relay on bun",
  cyclesPerSecond: spread([1000, 2000, 3000]),
  scoreNs: spread([50_000]),
  timeRatio: spread([1.5, 1.25, 1.75]),
  cycleRatio: spread([0.5, 0.25, 0.75]),
  serverCpuMsPer1000: 61,
  loadCpuMsPer1000: 72,
  serverShare: 0.83,
  loadShare: 0.94,
  loaders: 2,
  figures,
};

function told(found: Cells | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(found?.titles.map((title, index) => [title, found.lines[0]?.[index] ?? ""]) ?? []);
}

function cells(scenario: Partial<Scenario>, of: Row = row): Readonly<Record<string, string>> {
  return told(cellsOf({ ...base, ...scenario }, [of]));
}

test("a hot key's row: fairness beside speed, each figure under its own title", () => {
  expect(cells({})).toEqual({
    "": "bun ws-raw",
    "cycles/s": "2,000",
    "÷ floor (min–max)": "0.50 (0.25–0.75)",
    "hand-off p50 µs": "100",
    p99: "102",
    max: "104",
    "p50 ÷ floor (min–max)": "1.50 (1.25–1.75)",
    Jain: "0.5333",
    starved: "1",
    "max÷min": "∞",
    "again after": "7",
    self: "25 %",
    inversions: "6",
    "server ms/1000": "61",
    "load ms/1000": "72",
    "server busy": "83 %",
    "load busy": "94 %",
    loaders: "2",
    "B/cycle": "345",
  });
});

test("a load generator that is the bottleneck is marked, and whoever got nothing as nobody could is not infinitely unfair", () => {
  expect(cells({}, { ...row, serverShare: 0.7 })["load busy"]).toBe("94 % bound");
  expect(
    cells({}, { ...row, figures: { ...figures, fairness: { ...fairness, starved: 0 } } })["max÷min"],
  ).toBeUndefined();
});

test("keys of their own: what a client waits for, and no fairness among those who do not meet", () => {
  const { "cycle p50 µs": p50, p99, max, Jain } = cells({ keys: "own", floor: "echo" });
  expect([p50, p99, max, Jain]).toEqual(["300", "302", "304", undefined]);
});

test("a drain: the pass, by what it is a multiple of", () => {
  expect(cells({ shape: "drain" })).toMatchObject({ "pass µs": "50", "÷ floor (min–max)": "1.50 (1.25–1.75)" });
});

test("drops and crashes: from the cut to the next holder, and from a release", () => {
  const drop = { "÷ by release (min–max)": "1.50 (1.25–1.75)", "release → next p50 µs": "100" };
  expect(cells({ shape: "drop", cut: "fin" })).toMatchObject({ ...drop, "drop → next p50 µs": "200", max: "204" });
  expect(cells({ shape: "drop", cut: "kill" })).toMatchObject({
    ...drop,
    "kill → next p50 µs": "200",
    "its socket's end → next µs": "50",
  });
  expect(cells({ shape: "crash" })).toMatchObject({ ...drop, "crash → next p50 µs": "200", starved: "1" });
});

test("storms: times in ms, memory in KiB, and what was left", () => {
  expect(cells({ shape: "storm" })).toEqual({
    "": "bun ws-raw",
    "acquired ms": "11",
    "all granted on ms": "22",
    "÷ acquired (min–max)": "1.50 (1.25–1.75)",
    "then empty ms": "33",
    "session KiB": "1.00",
    "holder KiB": "2.00",
    "waiter KiB": "3.00",
  });
  expect(cells({ shape: "reconnect" })).toEqual({
    "": "bun ws-raw",
    "all hold ms": "44",
    "cut, and all hold again ms": "55",
    "÷ first (min–max)": "1.50 (1.25–1.75)",
    "then sessions": "1",
    keys: "2",
    holding: "3",
    waiting: "4",
  });
});

test("an open loop: from the planned time, with the load generator's own share of it", () => {
  expect(cellsOf({ ...base, shape: "open" }, [row])).toEqual({
    titles: [
      "",
      "cycles/s",
      "planned → granted p50 µs",
      "p99",
      "p99.9",
      "max",
      "p50 ÷ closed cycle (min–max)",
      "asked late p50 µs",
      "p99",
    ],
    lines: [["bun ws-raw", "2,000", "300", "302", "303", "304", "1.50 (1.25–1.75)", "400", "402"]],
  });
});

test("all figures: every percentile, max ÷ median, and what there is of fairness beside the table", () => {
  const wait = { ...times(300), max: 750_000 };
  const found = allFiguresOf(base, [{ ...row, figures: { ...figures, wait } }]);
  expect(found?.titles).toEqual([
    "",
    "hand-off p50 µs",
    "p90",
    "p99",
    "p99.9",
    "max",
    "wait p50 µs",
    "p90",
    "p99",
    "p99.9",
    "max",
    "max÷median",
    "rel. deviation",
    "holders in a window",
    "arrival inversions",
  ]);
  expect(found?.lines).toEqual([
    ["bun ws-raw", "100", "101", "102", "103", "104", "300", "301", "302", "303", "750", "2.50", "0.9354", "1.5", "9"],
  ]);
});

const INVALID: Row = { ...row, subject: "deno ws-raw", invalid: "a socket was closed" };
const SKIPPED: Row = { scenario: "any", subject: "etcd", floor: undefined, skipped: "no etcd" };

test("a row that broke or was skipped has no figures in the table, and says why", () => {
  const lines = block(base, [row, INVALID, SKIPPED, { ...row, scenario: "another" }]).split("\n");
  expect(lines.filter((line) => line.includes("2,000"))).toHaveLength(1);
  expect(lines).toContain("deno ws-raw  INVALID: a socket was closed");
  expect(lines).toContain("etcd  skipped: no etcd");
});

test("a row that broke is in no picture and no table of the page, which says why", () => {
  const machine = {
    processor: "one",
    cores: 2,
    memoryBytes: 1,
    system: "any",
    versions: {},
    loadAtStart: 0,
    pinned: true,
  };
  const run = {
    startedAt: "2026-01-01T00:00:00Z",
    commit: "abc",
    command: "bench",
    machine,
    rounds: 3,
    sliceMs: 300,
    notes: [],
  };
  const pageOf = (rows: readonly Row[]): string => page({ ...run, scenarios: [base], rows } satisfies Results);
  const text = pageOf([row, INVALID, SKIPPED]);
  expect(text.split("deno ws-raw")).toHaveLength(2);
  expect(text).toContain("deno ws-raw: INVALID, a socket was closed");
  expect(text).toContain("etcd: skipped, no etcd");
  expect(pageOf([row, { ...row, subject: "deno ws-raw" }]).split("deno ws-raw").length).toBeGreaterThan(4);
});
