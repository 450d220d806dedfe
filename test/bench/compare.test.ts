import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { spread } from "../../bench/figures.ts";
import type { Results, Row } from "../../bench/harness/results.ts";
import type { Fairness, Figures } from "../../bench/load/job.ts";
import { compare, readResults } from "../../bench/report/compare.ts";
import { NO_FAIRNESS, NO_FIGURES } from "./blank.ts";

function results(rows: readonly Row[], rest: Partial<Results> = {}): Results {
  const machine = {
    processor: "one",
    cores: 2,
    memoryBytes: 1,
    system: "any",
    versions: { bun: "1" },
    loadAtStart: 0,
    pinned: true,
  };
  const run = { scenarios: [], rounds: 3, sliceMs: 300, loaders: 1, notes: [], command: "bench" };
  return { startedAt: "then", commit: "abc", machine, ...run, rows, ...rest };
}

const FAIR: Fairness = {
  ...NO_FAIRNESS,
  grants: [1, 1],
  jain: 1,
  maxByMin: 1,
  returnsAfter: 2,
  distinct: 2,
  orderInversions: 0,
  arrivalInversions: 0,
};

const FIGURES: Figures = { ...NO_FIGURES, grants: 2 };

function row(subject: string, rest: Partial<Row>): Row {
  return { scenario: "hot", subject, floor: "relay", figures: FIGURES, ...rest };
}

function lineOf(text: string, name: string): string | undefined {
  return text.split("\n").find((line) => line.includes(name));
}

test("a row is compared by its multiples of the floor, time and cycles each with their own", () => {
  const then = row("bun", { timeRatio: spread([2, 2.1, 1.9]), cycleRatio: spread([0.4, 0.4, 0.4]) });
  const now = row("bun", { timeRatio: spread([1.5, 1.6, 1.4]), cycleRatio: spread([0.5, 0.3, 0.6]) });
  const text = compare(results([then]), results([now]));
  expect(lineOf(text, "hot · bun")).toMatch(/2\.00 → 1\.50\s+-25 % \*\s+0\.40 → 0\.50\s+\+25 %$/);
});

test("a figure that only one of the runs has is not compared with another one", () => {
  const then = row("bun", { timeRatio: spread([2]) });
  const now = row("bun", { cycleRatio: spread([0.5]) });
  expect(compare(results([then]), results([now]))).not.toMatch(/(?:2\.00|0\.50) →|→ (?:2\.00|0\.50)/);
});

test("ranges that do not touch are marked, unless there were too few rounds for a range", () => {
  const [then, now] = [row("bun", { timeRatio: spread([1, 2]) }), row("bun", { timeRatio: spread([3, 4]) })];
  const marked = (rounds: number) =>
    lineOf(compare(results([then], { rounds }), results([now], { rounds })), "hot · bun")?.includes("*");
  expect(marked(3)).toBe(true);
  expect(marked(2)).toBe(false);
});

test("ranges that touch are not marked", () => {
  const [then, now] = [row("bun", { timeRatio: spread([1, 2, 3]) }), row("bun", { timeRatio: spread([3, 4, 5]) })];
  expect(lineOf(compare(results([then]), results([now])), "hot · bun")).not.toContain("*");
});

test("rows that only one of the runs has, or that have no figures, are named", () => {
  const good = { timeRatio: spread([1]) };
  const before = [row("gone", good), row("broke", good), row("healed", { skipped: "no server" })];
  const after = [row("came", good), row("broke", { invalid: "a socket was closed" }), row("healed", good)];
  const text = compare(results(before), results(after));
  expect(text).toContain("only old: hot · gone");
  expect(text).toContain("only new: hot · came");
  expect(text).toContain("hot · broke has no figures now: a socket was closed");
  expect(text).toContain("hot · healed had no figures: no server");
});

test("a row that neither run could have, for the same reason, is not worth a word", () => {
  const skipped = row("postgres", { skipped: "at most 128 clients" });
  expect(compare(results([skipped]), results([skipped]))).not.toContain("postgres");
  const elsewhere = row("postgres", { skipped: "no postgres" });
  expect(compare(results([elsewhere]), results([skipped]))).toContain("postgres has no figures now");
});

test("whatever else was not the same is said, and nothing where all was", () => {
  const before = results([]);
  expect(compare(before, results([]))).not.toContain("!");
  const machine = { ...before.machine, processor: "two", cores: 4, versions: { bun: "2" } };
  const text = compare(before, results([], { machine, rounds: 5, sliceMs: 100, loaders: 2 }));
  const all = ["processor: one → two", "cores: 2 → 4", "bun: 1 → 2", "rounds: 3 → 5", "load generators: 1 → 2"];
  for (const said of [...all, "length of a turn, ms: 300 → 100"]) {
    expect(text).toContain(`! ${said}`);
  }
});

test("rows are told apart by scenario and by subject", () => {
  const before = [row("bun", { timeRatio: spread([1]) }), row("bun", { scenario: "drain", timeRatio: spread([2]) })];
  const after = [row("bun", { timeRatio: spread([3]) }), row("bun", { scenario: "drain", timeRatio: spread([4]) })];
  const text = compare(results(before), results(after));
  expect(lineOf(text, "hot · bun")).toContain("1.00 → 3.00");
  expect(lineOf(text, "drain · bun")).toContain("2.00 → 4.00");
});

test("a row that became faster and unfair says both, and one that broke the rules fails", () => {
  const told = (jain: number, starved: number, rest: Partial<Figures> = {}): Partial<Row> => ({
    figures: { ...FIGURES, fairness: { ...FAIR, jain, starved }, ...rest },
  });
  const then = row("bun", { timeRatio: spread([2]), ...told(1, 0) });
  const now = row("bun", { timeRatio: spread([1]), ...told(0.03, 118, { violations: 2 }) });
  const text = compare(results([then]), results([now]));
  expect(lineOf(text, "-50 %")).toMatch(/1\.0000 → 0\.0300\s+0 → 118$/);
  expect(text).toContain("FAIL hot · bun: 2 × mutual exclusion was violated");
  expect(compare(results([then]), results([then]))).not.toContain("FAIL");
});

test("a row whose ratio is gone, as its floor broke, is named", () => {
  const then = row("bun", { timeRatio: spread([2]), cycleRatio: spread([1]) });
  expect(compare(results([then]), results([row("bun", { cycleRatio: spread([1]) })]))).toContain(
    "hot · bun has no time ÷ floor now",
  );
  expect(compare(results([then]), results([row("bun", {})]))).toContain(
    "hot · bun has no time ÷ floor and no cycles ÷ floor now",
  );
});

test("a file that is missing, or holds something else, is named", () => {
  expect(() => readResults("/nowhere.json")).toThrow("/nowhere.json cannot be read");
  const path = fileURLToPath(new URL("../../package.json", import.meta.url));
  expect(() => readResults(path)).toThrow("holds no results of a run");
});
