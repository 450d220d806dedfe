/** Pictures with a line for each subject, its name at the line's end. Each returns nothing where there is nothing to show. */

import type { Row, SoakSample } from "../harness/results.ts";
import type { Summary } from "../load/job.ts";
import type { Scenario } from "../scenarios.ts";
import { colorOf, isFloor } from "./colors.ts";
import { clock } from "./soak.ts";
import {
  type Axes,
  type Frame,
  FRAME,
  line,
  linearScale,
  logScale,
  nameAt,
  plot,
  type Scale,
  spreadApart,
} from "./svg.ts";

/** With room for the names. */
const WIDE: Frame = { ...FRAME, right: 128 };
const LEFT = WIDE.left;
const RIGHT = WIDE.width - WIDE.right;
const TOP = WIDE.top;
const FOOT = WIDE.height - WIDE.bottom;
const NAME_HEIGHT = 12.5;

export interface Distribution {
  readonly subject: string;
  readonly summary: Summary | null | undefined;
  readonly isDashed: boolean;
}

interface Series {
  readonly subject: string;
  /** Values, from left to right. */
  readonly points: readonly (readonly [number, number])[];
  readonly isDashed: boolean;
  readonly isNamed?: boolean;
}

/** Up to three nines: the share of all that took at most so long. */
export function distributions(xTitle: string, given: readonly Distribution[]): string {
  const series = given.flatMap(({ subject, summary, isDashed }): Series[] =>
    summary === null || summary === undefined
      ? []
      : [{ subject, isDashed, points: micros(summary.curve), isNamed: !isDashed || isFloor(subject) }],
  );
  if (series.length === 0) return "";
  // Equal room for each nine, as the tail is what people wait for.
  const place = (share: number): number => -Math.log10(1 - Math.min(share, 0.999));
  const x = { ticks: [0, 0.5, 0.9, 0.99, 0.999], at: (share: number) => LEFT + (place(share) / 3) * (RIGHT - LEFT) };
  const xLabel = (share: number): string => (share === 0 ? "fastest" : `${Number((share * 100).toFixed(1))} %`);
  return draw({ x, y: heights(series, logScale), xTitle, yTitle: "µs, log", xLabel }, series);
}

/** Cycles a second on one hot key, by the number of clients. */
export function throughput(rows: readonly Row[], scenarios: readonly Scenario[], subjects: readonly string[]): string {
  const sizes = scenarios.filter(({ name }) => name.startsWith("hot key "));
  if (sizes.length < 2) return "";
  const series = subjects.flatMap((subject): Series[] => {
    const points = sizes.flatMap(({ name, clients }) => {
      const found = rows.find((row) => row.subject === subject && row.scenario === name && row.invalid === undefined);
      const median = found?.cyclesPerSecond?.median;
      return median === undefined ? [] : [[clients, median] as const];
    });
    return points.length === 0 ? [] : [{ subject, points, isDashed: isFloor(subject) }];
  });
  if (series.length === 0) return "";
  const ticks = sizes.map(({ clients }) => clients);
  const x = { ...logScale(ticks, LEFT + 10, RIGHT - 10), ticks };
  return draw(
    { x, y: heights(series, logScale), xTitle: "clients on one key", yTitle: "cycles a second, log", xLabel: String },
    series,
  );
}

/** Something of each interval of a soak. `of` is undefined where it is not known. */
export function overTime(rows: readonly Row[], yTitle: string, of: (sample: SoakSample) => number | undefined): string {
  const series = rows.map(({ subject, soak }): Series => {
    const points = (soak?.samples ?? []).flatMap((sample) => {
      const value = of(sample);
      return value === undefined ? [] : [[sample.atMs, value] as const];
    });
    return { subject, points, isDashed: false };
  });
  const all = series.flatMap(({ points }) => points);
  if (all.length < 2) return "";
  const x = linearScale(0, Math.max(...all.map(([atMs]) => atMs)), LEFT, RIGHT);
  const fromZero = (values: readonly number[], foot: number, top: number): Scale =>
    linearScale(0, Math.max(...values), foot, top);
  return draw({ x, y: heights(series, fromZero), xTitle: "time", yTitle, xLabel: clock }, series);
}

function micros(curve: Summary["curve"]): readonly (readonly [number, number])[] {
  return curve.filter(([share]) => share <= 0.999).map(([share, ns]) => [share, ns / 1000] as const);
}

function heights(
  series: readonly Series[],
  scale: (values: readonly number[], foot: number, top: number) => Scale,
): Scale {
  return scale(
    series.flatMap(({ points }) => points.map(([, value]) => value)),
    FOOT,
    TOP,
  );
}

function draw(axes: Axes, series: readonly Series[]): string {
  const placed = series.map(({ points, ...rest }) => ({
    ...rest,
    points: points.map(([x, y]) => [axes.x.at(x), axes.y.at(y)] as const),
  }));
  const marks = placed.map(({ subject, points, isDashed }) => line(points, colorOf(subject), isDashed, subject));
  const named = placed.filter(({ isNamed = true, points }) => isNamed && points.length > 0);
  const ends = named.map(({ points }) => points.at(-1)?.[1] ?? FOOT);
  const names = spreadApart(ends, NAME_HEIGHT, FOOT).map((y, index) => {
    const { subject = "", points = [] } = named[index] ?? {};
    const [x, end] = points.at(-1) ?? [RIGHT, y];
    return nameAt({ fromX: x, fromY: end, x: RIGHT + 14, y }, colorOf(subject), subject);
  });
  return plot(axes, [...marks, ...names], WIDE);
}
