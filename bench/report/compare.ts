/** Two runs side by side. Ratios to the floor, since the machine was not the same twice even where it was. */

import { readFileSync } from "node:fs";
import type { Spread } from "../figures.ts";
import { failuresIn } from "../harness/judge.ts";
import type { Results, Row } from "../harness/results.ts";
import { number, ratio } from "./words.ts";

/** Turns below which a range says nothing. */
const ROUNDS_MIN = 3;

/** Throws an Error that names the file when it is none of bench/out. */
export function readResults(path: string): Results {
  try {
    const results = JSON.parse(readFileSync(path, "utf8")) as Partial<Results>;
    if (Array.isArray(results.rows) && typeof results.commit === "string") return results as Results;
  } catch (error) {
    throw new Error(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  throw new Error(`${path} holds no results of a run`);
}

export function compare(before: Results, after: Results): string {
  const isRepeated = Math.min(before.rounds, after.rounds) >= ROUNDS_MIN;
  const lines: string[][] = [["", "time ÷ floor", "", "cycles ÷ floor", "", "Jain", "starved"]];
  const remarks: string[] = [];
  for (const row of after.rows) {
    const old = before.rows.find((candidate) => nameOf(candidate) === nameOf(row));
    const wrong = excuse(row);
    // Of what no run can measure nobody has to hear again.
    if (old === undefined || (old.skipped !== undefined && old.skipped === row.skipped)) continue;
    if (wrong !== undefined) remarks.push(`${nameOf(row)} has no figures now: ${wrong}`);
    else if (excuse(old) !== undefined) remarks.push(`${nameOf(row)} had no figures: ${excuse(old)}`);
    else {
      const time = change(old.timeRatio, row.timeRatio, isRepeated);
      const cycles = change(old.cycleRatio, row.cycleRatio, isRepeated);
      // A floor has no ratio: it is what the others are multiples of.
      if (time !== undefined || cycles !== undefined) {
        lines.push([nameOf(row), ...(time ?? ["", ""]), ...(cycles ?? ["", ""]), ...fairness(old, row)]);
      }
      remarks.push(...withoutRatio(old, row));
    }
  }
  remarks.push(...onlyIn("old", before, after), ...onlyIn("new", after, before));
  // Fast by breaking the rules is not faster.
  const failed = after.rows.filter((row) => excuse(row) === undefined).flatMap(failuresIn);
  return [
    `${before.commit} (${before.startedAt}) → ${after.commit} (${after.startedAt})`,
    "time: smaller is better; cycles: larger is better; *: the ranges of the rounds do not touch",
    ...differences(before, after).map((difference) => `! ${difference}`),
    ...failed.map((failure) => `FAIL ${failure}`),
    ...columns(lines),
    ...remarks,
  ].join("\n");
}

function onlyIn(which: string, { rows }: Results, other: Results): string[] {
  const names = rows.map(nameOf).filter((name) => !other.rows.some((row) => nameOf(row) === name));
  return names.length === 0 ? [] : [`only ${which}: ${names.join("; ")}`];
}

/** `1.20 → 1.10` and `-8 %`; undefined where either run has no such figure. */
function change(then: Spread | undefined, now: Spread | undefined, isRepeated: boolean): string[] | undefined {
  if (then === undefined || now === undefined) return undefined;
  const isApart = isRepeated && (now.min > then.max || now.max < then.min);
  const percent = Math.round((now.median / then.median - 1) * 100);
  const signed = `${percent > 0 ? "+" : ""}${percent} %`;
  return [`${ratio(then.median)} → ${ratio(now.median)}`, isApart ? `${signed} *` : `${signed}  `];
}

/** What has a ratio no more, since its floor broke, would be missed by nobody. */
function withoutRatio(old: Row, row: Row): string[] {
  const lost = (["timeRatio", "cycleRatio"] as const).filter((of) => old[of] !== undefined && row[of] === undefined);
  return lost.length === 0 ? [] : [`${nameOf(row)} has no ${lost.map(wordsOf).join(" and no ")} now`];
}

function wordsOf(of: "timeRatio" | "cycleRatio"): string {
  return of === "timeRatio" ? "time ÷ floor" : "cycles ÷ floor";
}

/** Where it was told both times: `0.9990 → 0.0300`, and how many got nothing. */
function fairness({ figures: before }: Row, { figures: after }: Row): [string, string] {
  const [then, now] = [before?.fairness, after?.fairness];
  if (!then || !now) return ["", ""];
  const arrow = (one: number | null, other: number | null, digits: number): string =>
    one === null || other === null ? "" : `${number(one, digits)} → ${number(other, digits)}`;
  return [arrow(then.jain, now.jain, 4), arrow(then.starved, now.starved, 0)];
}

/** What else was not the same. */
function differences(before: Results, after: Results): string[] {
  const conditions: readonly (readonly [string, (results: Results) => unknown])[] = [
    ["processor", ({ machine }) => machine.processor],
    ["cores", ({ machine }) => machine.cores],
    ["rounds", ({ rounds }) => rounds],
    ["length of a turn, ms", ({ sliceMs }) => sliceMs],
    ["load generators", ({ loaders = 1 }) => loaders],
    ...Object.keys(after.machine.versions).map(
      (name) => [name, ({ machine }: Results) => machine.versions[name]] as const,
    ),
  ];
  return conditions.flatMap(([name, of]) => {
    const [then, now] = [String(of(before)), String(of(after))];
    return then === now ? [] : [`${name}: ${then} → ${now}`];
  });
}

function columns(lines: readonly (readonly string[])[]): string[] {
  const widths = lines[0]?.map((_title, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0))) ?? [];
  return lines.map((line) =>
    line
      .map((text, index) => (index === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[index] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

function nameOf({ scenario, subject }: Row): string {
  return `${scenario} · ${subject}`;
}

function excuse({ skipped, invalid }: Row): string | undefined {
  return skipped ?? invalid;
}
