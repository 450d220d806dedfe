/** What a run will do, and how long that should take: arithmetic, nothing is measured. */

import { driverOf } from "../drivers/all.ts";
import { isOnce, type Run, type Scenario } from "../scenarios.ts";
import type { ServerKind } from "../servers/kinds.ts";
import { type Costs, costsOf, kindOf, START_MS } from "./costs.ts";
import { whyNot } from "./eligible.ts";
import { groupsOf } from "./groups.ts";
import { isKept } from "./loader-pool.ts";
import type { Kind, Time } from "./progress.ts";
import { isByDefault } from "./selection.ts";
import { type Floor, floorOf, type Subject } from "./subjects.ts";
import { warmUpMsOf } from "./warm-up.ts";

/** From its process's start to its end. */
export interface PlannedRow extends Time {
  readonly name: string;
}

export interface PlannedScenario extends Time {
  readonly scenario: Scenario;
  readonly subjects: readonly Subject[];
  /** What cannot take part here although it should, and why. */
  readonly skipped: readonly { readonly subject: string; readonly why: string }[];
  /** What could take part and does not, by default. */
  readonly leftOut: readonly string[];
  /** The floors first. */
  readonly rows: readonly PlannedRow[];
}

export interface Plan extends Time {
  /** Whose load generators are to be warm before the first scenario, and their servers with them. */
  readonly warmUps: readonly (Subject | Floor)[];
  readonly warmUpMs: number;
  readonly scenarios: readonly PlannedScenario[];
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
    scenarios.push({ scenario, subjects: chosen, skipped, leftOut, rows, ...totalOf(rows) });
  }
  const warmUps = run.isWarm ? await warmUpsOf(scenarios) : [];
  const warmUpMs = warmUps.reduce((sum, who) => sum + START_MS + warmUpMsOf(who), 0);
  const { ms, workMs } = totalOf(scenarios);
  return { warmUps, warmUpMs, scenarios, ms: warmUpMs + ms, workMs };
}

/** Those that live from scenario to scenario. */
async function warmUpsOf(scenarios: readonly PlannedScenario[]): Promise<(Subject | Floor)[]> {
  const found = new Map<string, Subject | Floor>();
  for (const { scenario, subjects } of scenarios) {
    for (const who of subjects.flatMap((subject) => [floorOf(subject, scenario), subject])) {
      if (who !== undefined && isKept((await driverOf(who.driver)).can)) found.set(who.name, who);
    }
  }
  return [...found.values()];
}

/** How often whoever takes part has its turn. */
export function roundsOf(scenario: Scenario, { rounds }: Pick<Run, "rounds">): number {
  return isOnce(scenario) ? 1 : rounds;
}

async function rowsOf(scenario: Scenario, subjects: readonly Subject[], run: Run): Promise<PlannedRow[]> {
  const rounds = roundsOf(scenario, run);
  const rowOf = async (who: Subject | Floor, turns: number): Promise<PlannedRow> => {
    const { can } = await driverOf(who.driver);
    return { name: who.name, ...timeOf(costsOf(scenario, who, can.quiet, run.sliceMs), turns, kindOf(scenario)) };
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

function timeOf({ prepareMs, warmUpMs, turnMs, finishMs }: Costs, turns: number, kind: Kind): Time {
  const aroundMs = prepareMs + finishMs;
  const turnsMs = warmUpMs + turns * turnMs;
  return { ms: aroundMs + turnsMs, workMs: kind === "work" ? aroundMs + turnsMs : aroundMs };
}

function totalOf(parts: readonly Time[]): Time {
  const sum = (of: (part: Time) => number): number => parts.reduce((total, part) => total + of(part), 0);
  return { ms: sum(({ ms }) => ms), workMs: sum(({ workMs }) => workMs) };
}
