/** The results in a terminal. */

import type { Spread } from "../figures.ts";
import type { Fairness } from "../load/job.ts";
import { isLoadBound } from "../harness/judge.ts";
import type { Row } from "../harness/results.ts";
import type { Gauges } from "../load/job.ts";
import type { Scenario } from "../scenarios.ts";
import { kibibytes, micros, number, ratio } from "./words.ts";

export interface Column {
  readonly title: string;
  readonly of: (row: Row) => string;
}

export interface Cells {
  readonly titles: readonly string[];
  readonly lines: readonly (readonly string[])[];
}

export function cellsOf(scenario: Scenario, rows: readonly Row[]): Cells {
  return cellsIn(columnsOf(scenario), rows);
}

export function cellsIn(wanted: readonly Column[], rows: readonly Row[]): Cells {
  const columns = wanted.map(({ title, of }) => ({ title, cells: rows.map(of) }));
  // A column that says nothing of anybody is only in the way.
  const told = columns.filter(({ cells }, index) => index === 0 || cells.some((cell) => cell !== ""));
  return {
    titles: told.map(({ title }) => title),
    lines: rows.map((_row, index) => told.map(({ cells }) => cells[index] ?? "")),
  };
}

export function block(scenario: Scenario, all: readonly Row[]): string {
  const rows = all.filter((row) => row.scenario === scenario.name);
  const measured = rows.filter((row) => row.figures !== undefined && row.invalid === undefined);
  const rest = rows.filter((row) => !measured.includes(row)).map(excuse);
  return [`\n${scenario.name}`, ...padded(cellsOf(scenario, measured)), ...rest].join("\n");
}

/** A line each, the titles first. */
export function padded({ titles, lines }: Cells): readonly string[] {
  const widths = titles.map((title, index) => Math.max(title.length, ...lines.map((line) => line[index]?.length ?? 0)));
  return [titles, ...lines].map((texts) =>
    texts
      .map((text, index) => (index === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[index] ?? 0)))
      .join("  "),
  );
}

function excuse({ subject, skipped, invalid }: Row): string {
  return skipped === undefined ? `${subject}  INVALID: ${invalid ?? "no figures"}` : `${subject}  skipped: ${skipped}`;
}

function columnsOf({ shape, keys, cut }: Scenario): Column[] {
  const name: Column = { title: "", of: (row) => row.subject };
  if (shape === "storm") return [name, ...stormColumns()];
  if (shape === "drop") return [name, ...dropColumns(cut)];
  if (shape === "crash") return [name, ...dropColumns(undefined), rate(), ...fairnessColumns()];
  if (shape === "reconnect") return [name, ...reconnectColumns()];
  if (shape === "open") return [name, rate(), ...openColumns()];
  if (shape === "soak") return [name, rate()];
  if (shape === "drain") return [name, time("pass µs"), ratioColumn("÷ floor"), ...costs()];
  return [
    name,
    rate(),
    { title: "÷ floor (min–max)", of: (row) => range(row.cycleRatio) },
    ...(keys === "own"
      ? distribution("cycle", "wait")
      : [...distribution("hand-off", "handOff"), ratioColumn("p50 ÷ floor")]),
    ...(keys === "own" ? [] : fairnessColumns()),
    ...costs(),
    { title: "B/cycle", of: (row) => number(row.figures?.bytesPerCycle, 0) },
  ];
}

function rate(): Column {
  return { title: "cycles/s", of: (row) => number(row.cyclesPerSecond?.median, 0) };
}

function fairnessColumns(): Column[] {
  return [
    { title: "Jain", of: (row) => number(row.figures?.fairness?.jain, 4) },
    { title: "starved", of: (row) => number(row.figures?.fairness?.starved, 0) },
    { title: "max÷min", of: ({ figures }) => maxByMin(figures?.fairness) },
    { title: "again after", of: (row) => number(row.figures?.fairness?.returnsAfter, 0) },
    { title: "self", of: (row) => share(row.figures?.fairness?.selfShare) },
    { title: "inversions", of: (row) => number(row.figures?.fairness?.orderInversions, 0) },
  ];
}

type Distributed = "handOff" | "cutHandOff" | "wait" | "sendLateness";
type Part = "p50" | "p99" | "p999" | "max";

function distribution(name: string, of: Distributed, parts: readonly Part[] = ["p50", "p99", "max"]): Column[] {
  return parts.map((part, index) => ({
    title: index === 0 ? `${name} ${part} µs` : part === "p999" ? "p99.9" : part,
    of: (row) => micros(row.figures?.[of]?.[part]),
  }));
}

function dropColumns(cut: Scenario["cut"]): Column[] {
  const ratios = [ratioColumn("÷ by release"), ...distribution("release → next", "handOff", ["p50", "p99"])];
  // The kernel needs milliseconds to clear a process away before anybody can know of its end.
  if (cut === "kill")
    return [...distribution("kill → next", "cutHandOff"), time("its socket's end → next µs"), ...ratios];
  return [...distribution(cut === undefined ? "crash → next" : "drop → next", "cutHandOff"), ...ratios];
}

function reconnectColumns(): Column[] {
  const ms = (title: string, of: "firstMs" | "againMs"): Column => ({
    title,
    of: (row) => number(row.figures?.reconnect?.[of], 0),
  });
  const left = (title: string, of: keyof Gauges): Column => ({
    title,
    of: (row) => number(row.figures?.reconnect?.left[of], 0),
  });
  return [
    ms("all hold ms", "firstMs"),
    ms("cut, and all hold again ms", "againMs"),
    ratioColumn("÷ first"),
    left("then sessions", "sessions"),
    left("keys", "keys"),
    left("holding", "holding"),
    left("waiting", "waiting"),
  ];
}

function openColumns(): Column[] {
  return [
    ...distribution("planned → granted", "wait", ["p50", "p99", "p999", "max"]),
    ratioColumn("p50 ÷ closed cycle"),
    ...distribution("asked late", "sendLateness", ["p50", "p99"]),
  ];
}

function stormColumns(): Column[] {
  const ms = (title: string, of: "acquireMs" | "grantedOnMs" | "emptyMs"): Column => ({
    title,
    of: (row) => number(row.figures?.storm?.[of], 0),
  });
  const bytes = (title: string, of: "bytesPerSession" | "bytesPerHolder" | "bytesPerWaiter"): Column => ({
    title,
    of: (row) => kibibytes(row.figures?.storm?.[of]),
  });
  return [
    ms("acquired ms", "acquireMs"),
    ms("all granted on ms", "grantedOnMs"),
    ratioColumn("÷ acquired"),
    ms("then empty ms", "emptyMs"),
    bytes("session KiB", "bytesPerSession"),
    bytes("holder KiB", "bytesPerHolder"),
    bytes("waiter KiB", "bytesPerWaiter"),
  ];
}

function costs(): Column[] {
  return [
    { title: "server ms/1000", of: (row) => number(row.serverCpuMsPer1000, 0) },
    { title: "load ms/1000", of: (row) => number(row.loadCpuMsPer1000, 0) },
    { title: "server busy", of: (row) => share(row.serverShare) },
    { title: "load busy", of: (row) => `${share(row.loadShare)}${isLoadBound(row) ? " bound" : ""}` },
    { title: "loaders", of: ({ loaders = 1 }) => (loaders > 1 ? `${loaders}` : "") },
  ];
}

function time(title: string): Column {
  return { title, of: (row) => micros(row.scoreNs?.median) };
}

function ratioColumn(title: string): Column {
  return { title: `${title} (min–max)`, of: (row) => range(row.timeRatio) };
}

function range(spread: Spread | undefined): string {
  return spread === undefined ? "" : `${ratio(spread.median)} (${ratio(spread.min)}–${ratio(spread.max)})`;
}

/** ∞ where somebody got nothing, unless there was nothing more to get. */
function maxByMin(fairness: Fairness | null | undefined): string {
  if (fairness?.maxByMin === null && fairness.starved === 0) return "";
  return ratio(fairness?.maxByMin);
}

function share(value: number | undefined): string {
  return value === undefined ? "" : `${(value * 100).toFixed(0)} %`;
}
