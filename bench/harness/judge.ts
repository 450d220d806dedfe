/** What a run must not show. Never a time: machines differ, and this one may be busy. */

import { grouped } from "./groups.ts";
import { TOO_LATE } from "./loader.ts";
import type { Row } from "./results.ts";

/** Drivers whose service gives tickets, and promises to grant in their order. */
const ORDERED = /ws-raw$/;

const LOAD_BOUND = 0.9;
const SERVER_IDLE = 0.8;
/** Largest ÷ smallest of a floor's own times within a scenario. */
const DRIFT_MAX = 1.5;
/**
 * An order that was not answered in time, or a client whose hello or answer to a ping came too late: machines do that. A claim that
 * is never granted looks different: its load generator says that it is stuck.
 */
function isTooLate({ invalid = "" }: Row): boolean {
  return invalid.startsWith(TOO_LATE) || /(?:silent for too long|no hello in time)$/.test(invalid);
}

export function failuresOf(rows: readonly Row[]): string[] {
  const counted = rows.filter((row) => row.skipped === undefined && !isTooLate(row));
  if (counted.length === 0) return ["nothing was measured"];
  return counted.flatMap(failuresIn);
}

/** Of a row that was measured, or should have been. */
export function failuresIn(row: Row): string[] {
  const name = `${row.scenario} · ${row.subject}`;
  if (row.invalid !== undefined) return [`${name}: ${row.invalid}`];
  const { figures } = row;
  const found: string[] = [];
  if (figures === undefined) return [`${name}: no figures`];
  const early = row.soak?.verdict.early ?? 0;
  if (early > 0) found.push(`${early} × a lease was ended before its time`);
  if (figures.violations > 0) found.push(`${figures.violations} × mutual exclusion was violated`);
  if ((figures.fairness?.orderInversions ?? 0) > 0 && ORDERED.test(row.subject)) {
    found.push(`${figures.fairness?.orderInversions} × a later ticket was granted first`);
  }
  // On a busy machine nothing may have been granted within the slices.
  if (figures.grants === 0 && figures.storm === null) found.push("nothing was granted");
  return found.map((failure) => `${name}: ${failure}`);
}

/** Whether the load generator had no more of a core to give, and the server had much. A server elsewhere is not seen. */
export function isLoadBound({ loadShare = 0, serverShare = 0 }: Row): boolean {
  return loadShare >= LOAD_BOUND && serverShare < loadShare * SERVER_IDLE;
}

/** The scenarios in which a floor was not the same all the time, with the worst. */
function driftOf(rows: readonly Row[]): string[] {
  const worst = new Map<string, number>();
  for (const { scenario, subject, scoreNs } of rows) {
    if (!/ on (bun|deno|node|workerd)$/.test(subject) || scoreNs === undefined) continue;
    worst.set(scenario, Math.max(worst.get(scenario) ?? 1, scoreNs.max / scoreNs.min));
  }
  return [...worst].filter(([, drift]) => drift > DRIFT_MAX).map(([name, drift]) => `${name} (× ${drift.toFixed(1)})`);
}

/** What a reader should know before believing the figures. */
export function notesOn(rows: readonly Row[], loadAtStart: number, cores: number): string[] {
  const notes: string[] = [];
  if (loadAtStart > cores / 2) {
    notes.push(
      `The machine was busy when the run began (load ${loadAtStart.toFixed(1)} on ${cores} cores): read the ratios only.`,
    );
  }
  const drifted = driftOf(rows);
  if (drifted.length > 0) {
    notes.push(`The machine drifted: a floor's own time went up and down by × 1.5 and more in ${drifted.join(", ")}.`);
  }
  for (const row of rows.filter(isTooLate)) {
    notes.push(`${row.scenario} · ${row.subject} did not answer in time, and does not count: is the machine busy?`);
  }
  const bound = rows.filter(isLoadBound);
  if (bound.length > 0) {
    const named = [...grouped(bound, ({ scenario }) => scenario)].map(
      ([scenario, same]) => `${scenario} · ${same.map(({ subject }) => subject).join(", ")}`,
    );
    notes.push(
      `The load generator, not the server, was the bottleneck of cycles/s in: ${named.join("; ")}. --loaders 2 splits all but drains, drops and storms.`,
    );
  }
  return notes;
}
