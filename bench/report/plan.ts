/** What a run will do and for how long, in a terminal, before it begins. */

import { grouped } from "../harness/groups.ts";
import type { Plan, PlannedRow, PlannedScenario } from "../harness/plan.ts";
import { duration } from "./words.ts";

/** Rows that take as long stand together. */
export function planned({ warmUps, warmUpMs, scenarios, ms }: Plan): string {
  return [
    ...(warmUps.length === 0
      ? []
      : [
          `\nuntil servers and load generators are warm: ${duration(warmUpMs)}, ${warmUps.map(({ name }) => name).join(", ")}`,
        ]),
    ...scenarios.map((scenario) => [head(scenario), ...rowLines(scenario.rows), ...without(scenario)].join("\n")),
    `\n${scenarios.length} scenarios, ${scenarios.reduce((sum, { rows }) => sum + rows.length, 0)} rows: about ${duration(ms)}`,
  ].join("\n");
}

/** One line, for below a table. Undefined where all take part. */
export function leftOutLine({ leftOut }: Pick<PlannedScenario, "leftOut">): string | undefined {
  return leftOut.length === 0 ? undefined : `left out (--all runs them): ${leftOut.join(", ")}`;
}

function head({ scenario, ms, rows }: PlannedScenario): string {
  return `\n${scenario.name}: ${duration(ms)}, ${rows.length} rows`;
}

function rowLines(rows: readonly PlannedRow[]): string[] {
  const byTime = grouped(rows, ({ ms }) => (ms / 1000).toFixed(1));
  return [...byTime]
    .toSorted(([a], [b]) => Number(b) - Number(a))
    .map(([seconds, same]) => `${seconds.padStart(7)} s  ${same.map(({ name }) => name).join(", ")}`);
}

function without(scenario: PlannedScenario): string[] {
  const left = leftOutLine(scenario);
  const skipped = scenario.skipped.map(({ subject, why }) => `${subject} skipped: ${why}`);
  return [...skipped, ...(left === undefined ? [] : [left])].map((line) => `           ${line}`);
}
