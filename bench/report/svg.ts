/** Just enough to draw a plot: scales, axes, and marks as text. */

export interface Scale {
  readonly ticks: readonly number[];
  /** From a value to pixels. */
  readonly at: (value: number) => number;
}

export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export const FRAME: Frame = { width: 640, height: 300, left: 62, right: 22, top: 14, bottom: 42 };

/** From the smallest to the largest value, a decade after the other, with as many ticks as there is room for. */
export function logScale(values: readonly number[], from: number, to: number): Scale {
  const positive = values.filter((value) => Number.isFinite(value) && value > 0);
  const low = Math.log10(Math.min(...positive));
  const high = Math.max(Math.log10(Math.max(...positive)), low + 0.1);
  const steps = high - low > 3 ? [1] : high - low > 0.6 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
  const decades = Array.from({ length: Math.ceil(high) - Math.floor(low) + 1 }, (_, index) => Math.floor(low) + index);
  const ticks = decades
    .flatMap((decade) => steps.map((step) => step * 10 ** decade))
    .filter((tick) => Math.log10(tick) >= low - 1e-9 && Math.log10(tick) <= high + 1e-9);
  const at = (value: number): number =>
    from + ((Math.max(Math.log10(Math.max(value, 1e-9)), low) - low) / (high - low)) * (to - from);
  return { ticks, at };
}

export function linearScale(low: number, high: number, from: number, to: number): Scale {
  const raw = (high - low) / 5 || 1;
  const magnitude = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * magnitude).find((candidate) => candidate >= raw) ?? raw;
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step) ticks.push(tick);
  return { ticks, at: (value) => from + ((value - low) / (high - low || 1)) * (to - from) };
}

export interface Axes {
  readonly x: Scale;
  readonly y: Scale;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly xLabel?: (value: number) => string;
  readonly yLabel?: (value: number) => string;
}

/** `labels` are drawn above the marks, in the colors of the text. */
export function plot(
  axes: Axes,
  marks: readonly string[],
  frame: Frame = FRAME,
  labels: readonly string[] = [],
): string {
  const { width, height, left, right, top, bottom } = frame;
  const xLabel = axes.xLabel ?? short;
  const yLabel = axes.yLabel ?? short;
  const foot = height - bottom;
  const grid = [
    ...axes.y.ticks.map((tick) => {
      const y = axes.y.at(tick).toFixed(1);
      return `<line class="grid" x1="${left}" x2="${width - right}" y1="${y}" y2="${y}"/><text x="${left - 8}" y="${y}" dy="0.32em" text-anchor="end">${yLabel(tick)}</text>`;
    }),
    ...axes.x.ticks.map((tick) => {
      const x = axes.x.at(tick).toFixed(1);
      return `<line class="grid" x1="${x}" x2="${x}" y1="${top}" y2="${foot}"/><text x="${x}" y="${foot + 18}" text-anchor="middle">${xLabel(tick)}</text>`;
    }),
  ];
  const titles = `<text class="title" x="${(left + width - right) / 2}" y="${height - 6}" text-anchor="middle">${escape(axes.xTitle)}</text>
<text class="title" transform="translate(13 ${(top + foot) / 2}) rotate(-90)" text-anchor="middle">${escape(axes.yTitle)}</text>`;
  return `<svg viewBox="0 0 ${width} ${height}" style="max-width:${width}px" role="img">${grid.join("")}${titles}<g class="marks">${marks.join("")}</g>${labels.join("")}</svg>`;
}

export function line(
  points: readonly (readonly [number, number])[],
  color: string,
  dashed: boolean,
  name: string,
): string {
  const path = points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const dots =
    points.length > 8
      ? []
      : points.map(([x, y]) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3" fill="${color}"/>`);
  return `<g><title>${escape(name)}</title><path d="${path}" fill="none" stroke="${color}" stroke-width="2"${dashed ? ' stroke-dasharray="5 4"' : ""}/>${dots.join("")}</g>`;
}

/** Places at least so far apart, each as near to where it was wanted as the others let it, none below the last one. */
export function spreadApart(wanted: readonly number[], gap: number, last: number): readonly number[] {
  const order = wanted.map((_place, index) => index).toSorted((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  const places = [...wanted];
  let free = Number.NEGATIVE_INFINITY;
  for (const index of order) {
    places[index] = Math.max(wanted[index] ?? 0, free);
    free = (places[index] ?? 0) + gap;
  }
  let ceiling = last;
  for (const index of order.toReversed()) {
    places[index] = Math.min(places[index] ?? 0, ceiling);
    ceiling = (places[index] ?? 0) - gap;
  }
  return places;
}

/** A name beside the end of its line, and what leads from the one to the other. Darker than the line, as text is thin. */
export function nameAt(
  at: { readonly fromX: number; readonly fromY: number; readonly x: number; readonly y: number },
  color: string,
  name: string,
): string {
  const lead = `M${(at.fromX + 4).toFixed(1)} ${at.fromY.toFixed(1)}L${(at.x - 3).toFixed(1)} ${at.y.toFixed(1)}`;
  return `<path d="${lead}" fill="none" stroke="${color}" stroke-width="0.8" opacity="0.6"/><text class="name" style="fill:color-mix(in srgb,${color} 72%,#1c1917)" x="${at.x}" y="${at.y.toFixed(1)}" dy="0.32em">${escape(name)}</text>`;
}

export function bar(x: number, y: number, width: number, height: number, color: string, name = ""): string {
  const title = name === "" ? "" : `<title>${escape(name)}</title>`;
  return `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(0.4, width).toFixed(1)}" height="${Math.max(0, height).toFixed(1)}" fill="${color}">${title}</rect>`;
}

export function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** 1 500 → 1.5k. */
export function short(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (value >= 1e3) return `${Number((value / 1e3).toPrecision(3))}k`;
  return `${Number(value.toPrecision(3))}`;
}
