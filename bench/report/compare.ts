/** Two runs side by side. Ratios to the floor, since the machine was not the same twice even where it was. */

import { readFileSync } from "node:fs";
import type { Results, Row } from "../harness/results.ts";
import { ratio } from "./words.ts";

export function compare(oldPath: string, newPath: string): string {
  const before = read(oldPath);
  const after = read(newPath);
  const lines = after.rows.flatMap((row) => {
    const old = before.rows.find(({ scenario, subject }) => scenario === row.scenario && subject === row.subject);
    const now = figureOf(row);
    const then = old === undefined ? undefined : figureOf(old);
    if (now === undefined || then === undefined) return [];
    // Ranges that do not touch are the least that a difference must show.
    const isClear = now.min > then.max || now.max < then.min;
    const change = `${((now.median / then.median - 1) * 100).toFixed(0)} %`;
    const name = `${row.scenario} · ${row.subject}`.padEnd(44);
    return [
      `${name} ${ratio(then.median).padStart(8)} → ${ratio(now.median).padStart(8)}  ${change.padStart(6)}${isClear ? " *" : ""}`,
    ];
  });
  const head = `time ÷ floor (smaller is better): ${before.commit} → ${after.commit}; * the ranges do not touch`;
  return [head, ...lines].join("\n");
}

/** Rows that have no hand-off have cycles: their inverse is a time. */
function figureOf({ timeRatio, cycleRatio }: Row): Row["timeRatio"] {
  if (timeRatio !== undefined || cycleRatio === undefined) return timeRatio;
  return { median: 1 / cycleRatio.median, min: 1 / cycleRatio.max, max: 1 / cycleRatio.min };
}

function read(path: string): Results {
  return JSON.parse(readFileSync(path, "utf8")) as Results;
}
