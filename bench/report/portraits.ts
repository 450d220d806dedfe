/** What became of each client of a row. Each picture is nothing where there is nothing to show. */

import type { Row } from "../harness/results.ts";
import { colorOf } from "./colors.ts";
import { bar, type Frame, FRAME, linearScale, plot, short } from "./svg.ts";

/** Beside one another they are as wide as a plot. */
const HEIGHT = 132;
const BARS: Frame = { ...FRAME, width: 210, height: HEIGHT, left: 38, right: 16, bottom: 36 };
const STAIRS: Frame = { ...FRAME, width: 430, height: HEIGHT, left: 26, right: 8, bottom: 36 };

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
  const x = linearScale(0, 3, BARS.left, BARS.width - BARS.right);
  const y = linearScale(0, Math.max(...bins), BARS.height - BARS.bottom, BARS.top);
  const width = x.at(0.1) - x.at(0);
  const marks = bins.map((count, index) => {
    const top = y.at(count);
    return bar(x.at(index / 10) - width / 2, top, width - 0.6, y.at(0) - top, colorOf(row.subject), `${count} clients`);
  });
  const few = { ...y, ticks: [0, Math.max(...bins)] };
  const xLabel = (share: number): string => (share === 3 ? "≥ 3" : short(share));
  const axes = { x: { ...x, ticks: [0, 1, 2, 3] }, y: few, xTitle: "× a fair share", yTitle: "clients", xLabel };
  return plot(axes, marks, BARS);
}

/** Who held when: a line for each client. Fair service is a staircase. */
export function timeline(row: Row): string {
  const holds = row.figures?.timeline ?? [];
  if (holds.length < 2) return "";
  const began = holds[0]?.[1] ?? 0;
  const ended = Math.max(...holds.map(([, , to]) => to));
  const clients = row.figures?.fairness?.grants.length ?? Math.max(...holds.map(([client]) => client)) + 1;
  const x = linearScale(0, ended - began, STAIRS.left, STAIRS.width - STAIRS.right);
  const y = linearScale(0, clients, STAIRS.top, STAIRS.height - STAIRS.bottom);
  const height = Math.max(1.4, y.at(1) - y.at(0) - 1);
  const marks = holds.map(([client, from, to]) => {
    const width = Math.max(1.2, x.at(to - began) - x.at(from - began));
    return bar(x.at(from - began), y.at(client), width, height, colorOf(row.subject));
  });
  return plot({ x, y: { ...y, ticks: [] }, xTitle: "ms", yTitle: `${clients} clients` }, marks, STAIRS);
}
