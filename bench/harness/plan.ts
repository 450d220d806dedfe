/** What a run will do, and how long that should take: arithmetic, nothing is measured. */

import { driverOf } from "../drivers/all.ts";
import { isOnce, type Run, type Scenario } from "../scenarios.ts";
import type { ServerKind } from "../servers/kinds.ts";
import { type Costs, costsOf } from "./costs.ts";
import { whyNot } from "./eligible.ts";
import { groupsOf } from "./groups.ts";
import { isByDefault } from "./selection.ts";
import { type Floor, floorOf, type Subject } from "./subjects.ts";
import { warmUpMsOf } from "./warm-up.ts";

export interface PlannedRow {
  readonly name: string;
  /** From its process's start to its end. */
  readonly ms: number;
}

export interface PlannedScenario {
  readonly scenario: Scenario;
  readonly subjects: readonly Subject[];
  /** What cannot take part here although it should, and why. */
  readonly skipped: readonly { readonly subject: string; readonly why: string }[];
  /** What could take part and does not, by default. */
  readonly leftOut: readonly string[];
  /** The floors first. */
  readonly rows: readonly PlannedRow[];
  readonly ms: number;
}

export interface Plan {
  /** Servers that are to be warm before the first scenario. */
  readonly warmUps: readonly (ServerKind | "given")[];
  readonly warmUpMs: number;
  readonly scenarios: readonly PlannedScenario[];
  readonly ms: number;
}

export interface Wanted {
  readonly run: Run;
  readonly subjects: readonly Subject[];
  /** All subjects in all scenarios. */
  readonly isAll: boolean;
}

/** Where it runs. */
export interface Surroundings {
  /** Why a server is not there; undefined if it is. */
  whyMissing(kind: ServerKind | "given"): string | undefined;
  readonly filesMax?: number;
}

export async function planOf({ run, subjects, isAll }: Wanted, here: Surroundings): Promise<Plan> {
  const scenarios: PlannedScenario[] = [];
  for (const scenario of run.scenarios) {
    const chosen: Subject[] = [];
    const skipped: { subject: string; why: string }[] = [];
    const leftOut: string[] = [];
    for (const subject of subjects) {
      const why =
        (await whyNot(scenario, subject, here.filesMax)) ?? (subject.server && here.whyMissing(subject.server));
      if (why === "") continue;
      if (!isAll && !isByDefault(scenario, subject)) leftOut.push(subject.name);
      else if (why === undefined) chosen.push(subject);
      else skipped.push({ subject: subject.name, why });
    }
    const rows = await rowsOf(scenario, chosen, run);
    scenarios.push({ scenario, subjects: chosen, skipped, leftOut, rows, ms: totalOf(rows) });
  }
  const warmUps = run.isWarm ? warmUpsOf(scenarios) : [];
  const warmUpMs = warmUps.reduce((sum, kind) => sum + warmUpMsOf(kind), 0);
  return { warmUps, warmUpMs, scenarios, ms: warmUpMs + totalOf(scenarios) };
}

/** Those that are up from scenario to scenario. */
function warmUpsOf(scenarios: readonly PlannedScenario[]): (ServerKind | "given")[] {
  const kinds = scenarios
    .filter(({ scenario }) => !isOnce(scenario))
    .flatMap(({ scenario, subjects }) =>
      subjects.flatMap((subject) => [subject.server, floorOf(subject, scenario)?.server]),
    );
  return [...new Set(kinds)].filter((kind) => kind !== undefined).filter((kind) => warmUpMsOf(kind) > 0);
}

/** How often whoever takes part has its turn. */
export function roundsOf(scenario: Scenario, { rounds }: Pick<Run, "rounds">): number {
  return isOnce(scenario) ? 1 : rounds;
}

async function rowsOf(scenario: Scenario, subjects: readonly Subject[], run: Run): Promise<PlannedRow[]> {
  const rounds = roundsOf(scenario, run);
  const rowOf = async (who: Subject | Floor, turns: number): Promise<PlannedRow> => {
    const { can } = await driverOf(who.driver);
    return { name: who.name, ms: sumOf(costsOf(scenario, who, can.quiet, run.sliceMs), turns) };
  };
  const groups = groupsOf(subjects, (subject) => floorOf(subject, scenario)?.name);
  const floors = new Map(subjects.map((subject) => floorOf(subject, scenario)).map((floor) => [floor?.name, floor]));
  const rows: PlannedRow[] = [];
  for (const floor of floors.values()) {
    if (floor === undefined) continue;
    const shared = groups.filter((group) => group.floor === floor.name).length;
    rows.push(await rowOf(floor, isOnce(scenario) ? 1 : shared * rounds));
  }
  for (const subject of subjects) rows.push(await rowOf(subject, rounds));
  return rows;
}

function sumOf({ prepareMs, warmUpMs, turnMs, finishMs }: Costs, turns: number): number {
  return prepareMs + warmUpMs + turns * turnMs + finishMs;
}

function totalOf(parts: readonly { readonly ms: number }[]): number {
  return parts.reduce((sum, { ms }) => sum + ms, 0);
}
