import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { spread } from "../../bench/figures.ts";
import type { Results, Row } from "../../bench/harness/results.ts";
import { compare, readResults } from "../../bench/report/compare.ts";

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

function row(subject: string, rest: Partial<Row>): Row {
  return { scenario: "hot", subject, floor: "relay", ...rest };
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
  expect(lineOf(compare(results([then]), results([now])), "hot · bun")).toBeUndefined();
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
  const machine = { ...before.machine, cores: 4, versions: { bun: "2" } };
  const text = compare(before, results([], { machine, rounds: 5, loaders: 2 }));
  for (const said of ["cores: 2 → 4", "bun: 1 → 2", "rounds: 3 → 5", "load generators: 1 → 2"]) {
    expect(text).toContain(`! ${said}`);
  }
});

test("a file that is missing, or holds something else, is named", () => {
  expect(() => readResults("/nowhere.json")).toThrow("/nowhere.json cannot be read");
  const path = fileURLToPath(new URL("../../package.json", import.meta.url));
  expect(() => readResults(path)).toThrow("holds no results of a run");
});
