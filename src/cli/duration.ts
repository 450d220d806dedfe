/** Durations as people write them: `500ms`, `30s`, `5m`, `24h`. */

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** In ms; undefined when it is no duration. A bare number counts ms, as it does everywhere on the wire. */
export function parseDuration(text: string): number | undefined {
  const [, digits = "", unit = "ms"] = /^(\d{1,12})(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Number(digits) * (UNIT_MS[unit] ?? Number.NaN);
  return digits === "" ? undefined : ms;
}

/** In the largest unit that shows it whole. */
export function formatDuration(ms: number): string {
  for (const unit of ["h", "m", "s"]) {
    const unitMs = UNIT_MS[unit] ?? 1;
    if (ms > 0 && ms % unitMs === 0) return `${ms / unitMs}${unit}`;
  }
  return `${ms}ms`;
}
