import { expect, test } from "vitest";
import { spread } from "../../bench/figures.ts";
import type { Row } from "../../bench/harness/results.ts";
import { targetsOf } from "../../bench/report/targets.ts";

function row(scenario: string, subject: string, rest: Partial<Row>): Row {
  return { scenario, subject, floor: "relay on bun", ...rest };
}

function lineOf(rows: readonly Row[], start: string): readonly string[] | undefined {
  return targetsOf({ rows, rounds: 3 }).lines.find(([name]) => name?.startsWith(start));
}

test("a ratio at its bound holds, one above does not, and each runtime has its own bound", () => {
  const hot = (subject: string, value: number): Row => row("hot key 16", subject, { timeRatio: spread([value]) });
  const rows = [hot("bun ws-raw", 1.1), hot("deno ws-raw", 1.16), hot("node ws-raw", 1.2)];
  expect(lineOf(rows, "hand-off ÷ relay, 16")?.slice(1)).toEqual(["≤ 1.1, 1.15, 1.2", "1.10 ✓", "1.16 ✗", "1.20 ✓"]);
});

test("a drain is set against the best of the peers that queue, and against each of the others", () => {
  const drain = (subject: string, ns: number): Row => row("drain 128", subject, { scoreNs: spread([ns]) });
  const rows = [drain("bun ws-raw", 20), drain("redis-list", 24), drain("postgres", 110), drain("redlock5", 800)];
  expect(lineOf(rows, "drain 128: times as fast")?.[2]).toBe("1.20 ✗");
  expect(lineOf(rows, "drain 128: as Postgres")?.[2]).toBe("5.50 ✓");
  expect(lineOf(rows, "drain 128: as redlock")?.[2]).toBe("40.0 ✓");
});

test("what was not measured, or does not count, is left open, and a target that nobody was measured for is not told", () => {
  const rows = [
    row("hot key 2", "bun ws-raw", { timeRatio: spread([1]) }),
    row("hot key 2", "node ws-raw", { timeRatio: spread([1]), invalid: "a socket was closed" }),
  ];
  expect(lineOf(rows, "hand-off ÷ relay, 2 ")?.slice(2)).toEqual(["1.00 ✓", "", ""]);
  expect(targetsOf({ rows, rounds: 3 }).lines).toHaveLength(1);
});

test("with fewer than three rounds nothing is said of targets", () => {
  const rows = [row("hot key 2", "bun ws-raw", { timeRatio: spread([1]) })];
  expect(targetsOf({ rows, rounds: 2 }).lines).toEqual([]);
});
