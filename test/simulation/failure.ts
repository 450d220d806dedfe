import { show } from "./equal.ts";
import type { WorldOptions } from "./options.ts";

/** Something that must not be. The world adds the seed and the steps that led there. */
class Failure extends Error {
  constructor(what: string, details: Readonly<Record<string, unknown>> = {}) {
    const lines = Object.entries(details).map(([name, value]) => `  ${name}: ${showLines(value)}`);
    super([what, ...lines].join("\n"));
    this.name = "Failure";
  }
}

/** Throws unless `holds`. The details are a function, since a run makes millions of checks and fails none. */
export function demand(holds: boolean, what: string, details?: () => Readonly<Record<string, unknown>>): asserts holds {
  if (!holds) throw new Failure(what, details?.());
}

/** A simulation that failed: enough to read what happened, and to run it again. */
export class SimulationError extends Error {
  constructor(options: WorldOptions, step: number, recent: readonly string[], cause: unknown) {
    const text = cause instanceof Error ? cause.message : String(cause);
    const judge = options.judge === "auditor" ? " --audit-only" : "";
    const stack = cause instanceof Failure || !(cause instanceof Error) ? [] : [cause.stack ?? ""];
    super(
      [
        `seed ${options.seed} failed at step ${step}: ${text}`,
        ...stack,
        "the latest steps:",
        ...recent.map((line) => `  ${line}`),
        `options: ${show(options)}`,
        `again: SEED=${options.seed} npm run simulate -- --steps ${options.steps}${judge}`,
      ].join("\n"),
      { cause },
    );
    this.name = "SimulationError";
  }
}

function showLines(value: unknown): string {
  if (!Array.isArray(value)) return show(value);
  return value.length === 0 ? "none" : value.map((item) => `\n    ${show(item)}`).join("");
}
