/** What a run is told by: tables, targets that hold or do not, and what must never be. */

export type Cell = string | number;

export interface Findings {
  /** The first row names the columns. */
  readonly table: (title: string, rows: readonly (readonly Cell[])[]) => void;
  readonly target: (rule: string, value: number, max: number) => void;
  readonly note: (text: string) => void;
  /** Two held what one may hold, or a fence did not rise. */
  readonly violation: (text: string) => void;
  readonly violations: readonly string[];
  readonly missed: readonly string[];
}

export function printFindings(print: (line: string) => void): Findings {
  const violations: string[] = [];
  const missed: string[] = [];
  return {
    violations,
    missed,
    table(title, rows) {
      print(`\n  ${title}`);
      const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => shown(row[column]).length)));
      for (const row of rows) {
        const cells = row.map((cell, column) => {
          const text = shown(cell);
          return column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0);
        });
        print(`    ${cells.join("  ")}`);
      }
    },
    target(rule, value, max) {
      const holds = value <= max;
      if (!holds) missed.push(rule);
      print(`    ${holds ? "holds" : "DOES NOT HOLD"}: ${rule}: ${round(value)}, at most ${max}`);
    },
    note: (text) => print(`    ${text}`),
    violation(text) {
      violations.push(text);
      print(`    VIOLATION ${text}`);
    },
  };
}

function shown(cell: Cell | undefined): string {
  return typeof cell === "number" ? round(cell) : (cell ?? "");
}

/** Three digits say all that a busy machine knows. */
export function round(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en").replaceAll(",", " ");
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
