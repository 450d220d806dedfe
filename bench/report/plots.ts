/** The pictures of a report. Each returns nothing where there is nothing to show. */

import type { Row, SoakSample } from "../harness/results.ts";
import type { Summary } from "../load/job.ts";
import type { Scenario } from "../scenarios.ts";
import { colorOf, isFloor } from "./colors.ts";
import { clock } from "./soak.ts";
import { bar, FRAME, line, linearScale, logScale, plot, short } from "./svg.ts";

const LEFT = FRAME.left;
const RIGHT = FRAME.width - FRAME.right;
const TOP = FRAME.top;
const FOOT = FRAME.height - FRAME.bottom;

export interface Distribution {
  readonly subject: string;
  readonly summary: Summary | null | undefined;
  readonly isDashed: boolean;
}

/** Up to three nines: the share of all that took at most so long. */
export function distributions(xTitle: string, given: readonly Distribution[]): string {
  const curves = given.flatMap(({ subject, summary, isDashed }) =>
    summary === null || summary === undefined
      ? []
      : [{ subject, isDashed, points: summary.curve.filter(([share]) => share <= 0.999) }],
  );
  if (curves.length === 0) return "";
  const y = logScale(
    curves.flatMap(({ points }) => points.map(([, ns]) => ns / 1000)),
    FOOT,
    TOP,
  );
  // Equal room for each nine, as the tail is what people wait for.
  const place = (share: number): number => -Math.log10(1 - Math.min(share, 0.999));
  const x = { ticks: [0, 0.5, 0.9, 0.99, 0.999], at: (share: number) => LEFT + (place(share) / 3) * (RIGHT - LEFT) };
  const marks = curves.map(({ subject, isDashed, points }) =>
    line(
      points.map(([share, ns]) => [x.at(share), y.at(ns / 1000)] as const),
      colorOf(subject),
      isDashed,
      subject,
    ),
  );
  const xLabel = (share: number): string => (share === 0 ? "fastest" : `${Number((share * 100).toFixed(1))} %`);
  return plot({ x, y, xTitle, yTitle: "µs, log", xLabel }, marks);
}

/** Cycles a second on one hot key, by the number of clients. */
export function throughput(rows: readonly Row[], scenarios: readonly Scenario[]): string {
  const sizes = scenarios.filter(({ name }) => name.startsWith("hot key "));
  if (sizes.length < 2) return "";
  const subjects = [...new Set(rows.map(({ subject }) => subject))];
  const series = subjects.map((subject) => ({
    subject,
    points: sizes.flatMap(({ name, clients }) => {
      const found = rows.find((row) => row.subject === subject && row.scenario === name && row.invalid === undefined);
      const median = found?.cyclesPerSecond?.median;
      return median === undefined ? [] : [[clients, median] as const];
    }),
  }));
  const all = series.flatMap(({ points }) => points);
  const x = logScale(
    sizes.map(({ clients }) => clients),
    LEFT + 10,
    RIGHT - 10,
  );
  const y = logScale(
    all.map(([, rate]) => rate),
    FOOT,
    TOP,
  );
  const marks = series
    .filter(({ points }) => points.length > 0)
    .map(({ subject, points }) =>
      line(
        points.map(([clients, rate]) => [x.at(clients), y.at(rate)] as const),
        colorOf(subject),
        isFloor(subject),
        subject,
      ),
    );
  const ticks = sizes.map(({ clients }) => clients);
  return plot({ x: { ...x, ticks }, y, xTitle: "clients on one key", yTitle: "cycles a second, log" }, marks);
}

/** How many clients got how much of what would be fair. */
export function grants(row: Row): string {
  const counts = row.figures?.fairness?.grants ?? [];
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  if (counts.length < 2 || mean === 0) return "";
  const shares = counts.map((count) => Math.min(3, count / mean));
  const bins = Array.from(
    { length: 31 },
    (_, index) => shares.filter((share) => Math.round(share * 10) === index).length,
  );
  const frame = { ...FRAME, width: 320, height: 150, left: 44, bottom: 36 };
  const x = linearScale(0, 3, frame.left, frame.width - frame.right);
  const y = linearScale(0, Math.max(...bins), frame.height - frame.bottom, frame.top);
  const width = x.at(0.1) - x.at(0);
  const marks = bins.map((count, index) => {
    const top = y.at(count);
    return bar(x.at(index / 10) - width / 2, top, width - 1, y.at(0) - top, colorOf(row.subject), `${count} clients`);
  });
  const few = { ...y, ticks: [0, Math.max(...bins)] };
  const xLabel = (share: number): string => (share === 3 ? "≥ 3" : short(share));
  return plot(
    { x: { ...x, ticks: [0, 1, 2, 3] }, y: few, xTitle: "× a fair share", yTitle: "clients", xLabel },
    marks,
    frame,
  );
}

/** Who held when: a line for each client. Fair service is a staircase. */
export function timeline(row: Row): string {
  const holds = row.figures?.timeline ?? [];
  if (holds.length < 2) return "";
  const began = holds[0]?.[1] ?? 0;
  const ended = Math.max(...holds.map(([, , to]) => to));
  const clients = Math.max(...holds.map(([client]) => client)) + 1;
  const frame = { ...FRAME, width: 640, height: 170, bottom: 36 };
  const x = linearScale(0, ended - began, frame.left, frame.width - frame.right);
  const y = linearScale(0, clients, frame.top, frame.height - frame.bottom);
  const height = Math.max(1.4, y.at(1) - y.at(0) - 1);
  const marks = holds.map(([client, from, to]) =>
    bar(
      x.at(from - began),
      y.at(client),
      Math.max(1.2, x.at(to - began) - x.at(from - began)),
      height,
      colorOf(row.subject),
    ),
  );
  return plot({ x, y: { ...y, ticks: [] }, xTitle: "ms", yTitle: `${clients} clients` }, marks, frame);
}

/** Something of each interval of a soak. `of` is undefined where it is not known. */
export function overTime(rows: readonly Row[], yTitle: string, of: (sample: SoakSample) => number | undefined): string {
  const series = rows.map(({ subject, soak }) => ({
    subject,
    points: (soak?.samples ?? []).flatMap((sample) => {
      const value = of(sample);
      return value === undefined ? [] : [[sample.atMs, value] as const];
    }),
  }));
  const all = series.flatMap(({ points }) => points);
  if (all.length < 2) return "";
  const x = linearScale(0, Math.max(...all.map(([atMs]) => atMs)), LEFT, RIGHT);
  const y = linearScale(0, Math.max(...all.map(([, value]) => value)), FOOT, TOP);
  const marks = series.map(({ subject, points }) =>
    line(
      points.map(([atMs, value]) => [x.at(atMs), y.at(value)] as const),
      colorOf(subject),
      false,
      subject,
    ),
  );
  return plot({ x, y, xTitle: "time", yTitle, xLabel: clock }, marks);
}

/** Time as a multiple of whatever it is set against, with the range over the rounds. */
export function ratios(rows: readonly Row[]): string {
  const found = rows.flatMap((row) => (row.timeRatio === undefined ? [] : [{ row, spread: row.timeRatio }]));
  if (found.length === 0) return "";
  const sorted = found.toSorted((a, b) => a.spread.median - b.spread.median);
  const frame = { ...FRAME, left: 150, right: 60, top: 8, bottom: 40, height: 56 + sorted.length * 24 };
  const values = sorted.flatMap(({ spread }) => [spread.min, spread.max, 1]);
  const x = logScale([...values, Math.max(...values) * 1.1], frame.left, frame.width - frame.right);
  const marks = sorted.map(({ row, spread }, index) => {
    const y = frame.top + 8 + index * 24;
    const from = x.at(Math.min(1, spread.median));
    const to = x.at(Math.max(1, spread.median));
    return bar(from, y, to - from, 14, colorOf(row.subject), row.subject);
  });
  const labels = sorted.map(({ row, spread }, index) => {
    const y = frame.top + 8 + index * 24;
    const right = Math.max(x.at(spread.max), x.at(1));
    return `<line class="range" x1="${x.at(spread.min)}" x2="${x.at(spread.max)}" y1="${y + 7}" y2="${y + 7}"/>
<text x="${frame.left - 8}" y="${y + 7}" dy="0.32em" text-anchor="end">${row.subject}</text>
<text class="value" x="${right + 6}" y="${y + 7}" dy="0.32em">${spread.median.toFixed(2)}</text>`;
  });
  const y = { ticks: [], at: () => 0 };
  const axes = { x, y, xTitle: "×, log", yTitle: "" };
  return plot(axes, marks, frame, labels);
}
