/** What a row knows beyond what is in its table: for whoever wants to look closer. */

import type { Fairness, Summary } from "../load/job.ts";
import type { Scenario } from "../scenarios.ts";
import { type Cells, cellsIn, type Column } from "./table.ts";
import { micros, number, ratio } from "./words.ts";

/** Undefined where there is nothing more. */
export function allFiguresOf({ shape, keys }: Scenario, rows: Parameters<typeof cellsIn>[1]): Cells | undefined {
  if (shape !== "cycles" && shape !== "crash" && shape !== "open") return undefined;
  const isShared = shape !== "open" && keys !== "own";
  const columns: readonly Column[] = [
    { title: "", of: (row) => row.subject },
    ...(isShared ? times("hand-off", ({ figures }) => figures?.handOff) : []),
    ...(shape === "crash" ? times("crash → next", ({ figures }) => figures?.cutHandOff) : []),
    ...times("wait", ({ figures }) => figures?.wait),
    {
      title: "max÷median",
      of: ({ figures }) => ratio(figures?.wait ? figures.wait.max / figures.wait.p50 : undefined),
    },
    ...(isShared ? fairness() : []),
  ];
  return cellsIn(columns, rows);
}

function times(name: string, of: (row: Parameters<Column["of"]>[0]) => Summary | null | undefined): readonly Column[] {
  const parts = [
    ["p50 µs", "p50"],
    ["p90", "p90"],
    ["p99", "p99"],
    ["p99.9", "p999"],
    ["max", "max"],
  ] as const;
  return parts.map(([title, part], index) => ({
    title: index === 0 ? `${name} ${title}` : title,
    of: (row) => micros(of(row)?.[part]),
  }));
}

function fairness(): readonly Column[] {
  const column = (title: string, digits: number, of: (told: Fairness) => number | null): Column => ({
    title,
    of: ({ figures }) => number(figures?.fairness ? of(figures.fairness) : undefined, digits),
  });
  return [
    column("rel. deviation", 4, ({ relativeDeviation }) => relativeDeviation),
    column("holders in a window", 1, ({ distinct }) => distinct),
    column("arrival inversions", 0, ({ arrivalInversions }) => arrivalInversions),
  ];
}
