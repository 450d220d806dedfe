/** Pictures with a bar for each subject. Each returns nothing where there is nothing to show. */

import type { Row } from "../harness/results.ts";
import { colorOf } from "./colors.ts";
import { bar, escape, type Frame, FRAME, linearScale, logScale, plot } from "./svg.ts";

const BAR_HEIGHT = 14;
const LINE_HEIGHT = 22;

export interface Level {
  readonly subject: string;
  readonly value: number;
  readonly text: string;
}

/** Time as a multiple of whatever it is set against, with the range over the rounds. */
export function ratios(rows: readonly Row[]): string {
  const found = rows.flatMap((row) => (row.timeRatio === undefined ? [] : [{ row, spread: row.timeRatio }]));
  if (found.length === 0) return "";
  const sorted = found.toSorted((a, b) => a.spread.median - b.spread.median);
  const frame = frameOf(sorted.length, 60);
  const values = sorted.flatMap(({ spread }) => [spread.min, spread.max, 1]);
  const x = logScale([...values, Math.max(...values) * 1.1], frame.left, frame.width - frame.right);
  const marks = sorted.map(({ row, spread }, index) => {
    const from = x.at(Math.min(1, spread.median));
    const to = x.at(Math.max(1, spread.median));
    return bar(from, topOf(frame, index), to - from, BAR_HEIGHT, colorOf(row.subject), row.subject);
  });
  const labels = sorted.map(({ row, spread }, index) => {
    const y = topOf(frame, index) + BAR_HEIGHT / 2;
    const range = `<line class="range" x1="${x.at(spread.min)}" x2="${x.at(spread.max)}" y1="${y}" y2="${y}"/>`;
    return `${range}${words(frame, y, row.subject, Math.max(x.at(spread.max), x.at(1)), spread.median.toFixed(2))}`;
  });
  return plot({ x, y: NO_SCALE, xTitle: "×, log", yTitle: "" }, marks, frame, labels);
}

/** From 0 to 1, the largest first. */
export function shares(levels: readonly Level[], xTitle: string): string {
  if (levels.length === 0) return "";
  const sorted = levels.toSorted((a, b) => b.value - a.value);
  const frame = frameOf(sorted.length, 130);
  const x = linearScale(0, 1, frame.left, frame.width - frame.right);
  const marks = sorted.map(({ subject, value }, index) =>
    bar(x.at(0), topOf(frame, index), x.at(value) - x.at(0), BAR_HEIGHT, colorOf(subject), subject),
  );
  const labels = sorted.map(({ subject, value, text }, index) =>
    words(frame, topOf(frame, index) + BAR_HEIGHT / 2, subject, x.at(value), text),
  );
  return plot({ x, y: NO_SCALE, xTitle, yTitle: "" }, marks, frame, labels);
}

const NO_SCALE = { ticks: [], at: () => 0 };

function frameOf(count: number, right: number): Frame {
  return { ...FRAME, left: 150, right, top: 8, bottom: 40, height: 56 + count * LINE_HEIGHT };
}

function topOf({ top }: Frame, index: number): number {
  return top + 8 + index * LINE_HEIGHT;
}

/** The name before the bar, what it comes to behind it. */
function words({ left }: Frame, y: number, subject: string, end: number, value: string): string {
  return `<text x="${left - 8}" y="${y}" dy="0.32em" text-anchor="end">${escape(subject)}</text>
<text class="value" x="${end + 6}" y="${y}" dy="0.32em">${escape(value)}</text>`;
}
