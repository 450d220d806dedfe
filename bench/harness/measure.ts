/** A scenario: all its subjects and their floors, connected at once, take turns at the machine. */

import { driverOf } from "../drivers/all.ts";
import { spread } from "../figures.ts";
import type { Slice } from "../load/job.ts";
import { isOnce, ownFloorOf, type Scenario } from "../scenarios.ts";
import type { ServerKind } from "../servers/kinds.ts";
import type { BenchServer } from "../servers/server.ts";
import { costsOf, kindOf } from "./costs.ts";
import { type Group, groupsOf, sidesOf } from "./groups.ts";
import type { LoaderPool } from "./loader-pool.ts";
import { Party } from "./party.ts";
import { type PlannedScenario, roundsOf } from "./plan.ts";
import type { Kind } from "./progress.ts";
import type { Row } from "./results.ts";
import { type Floor, floorOf, type Subject } from "./subjects.ts";

export interface Turns {
  readonly rounds: number;
  readonly sliceMs: number;
  readonly loaders: number;
}

export interface Servers {
  /** Why there is none; undefined if there is. */
  whyMissing(kind: ServerKind | "given"): string | undefined;
  get(kind: ServerKind | "given"): Promise<BenchServer>;
}

interface Pair {
  readonly subject: Subject;
  readonly floor: Floor | undefined;
  readonly party: Party;
  readonly control: Party | undefined;
  readonly timeRatios: number[];
  readonly cycleRatios: number[];
}

/** Hears of each step that is over, with the time that the plan had for it, ms. */
export type Tell = (plannedMs: number, kind: Kind) => void;

export async function measure(
  { scenario, subjects, skipped }: Pick<PlannedScenario, "scenario" | "subjects" | "skipped">,
  turns: Turns,
  servers: Servers,
  pool: LoaderPool<Subject | Floor>,
  tell: Tell,
): Promise<Row[]> {
  const { name } = scenario;
  const kind = kindOf(scenario);
  const controls = new Map<string, Promise<Party>>();
  const connect = async (who: Subject | Floor): Promise<Party> => {
    const { can } = await driverOf(who.driver);
    const costs = costsOf(scenario, who, can.quiet, turns.sliceMs);
    return Party.prepare(who, who.server && servers.get(who.server), scenario, pool, turns.loaders, costs);
  };
  const pairs = await Promise.all(subjects.map((subject) => prepare(scenario, subject, controls, connect)));
  const floors = await Promise.all(controls.values());
  const parties = [...floors, ...pairs.map(({ party }) => party)];
  for (const { costs } of parties) tell(costs.prepareMs, "work");
  for (const party of parties) {
    if (!isOnce(scenario)) await party.warmUp(turns.sliceMs);
    tell(party.costs.warmUpMs, kind);
  }
  const groups = groupsOf(pairs, ({ control }) => control?.name);
  for (let round = 0; round < roundsOf(scenario, turns); round++) {
    for (const group of groups) await turn(group, turns.sliceMs, round, (ms) => tell(ms, kind));
  }
  for (const party of parties) {
    await party.finish();
    tell(party.costs.finishMs, "work");
  }
  return [
    ...skipped.map(({ subject, why }) => ({ scenario: name, subject, floor: undefined, skipped: why })),
    ...floors.map((party) => ({ scenario: name, subject: party.name, floor: undefined, ...party.row() })),
    ...pairs.map((pair) => rowOf(scenario, pair)),
  ];
}

async function prepare(
  scenario: Scenario,
  subject: Subject,
  controls: Map<string, Promise<Party>>,
  connect: (who: Subject | Floor) => Promise<Party>,
): Promise<Pair> {
  const floor = floorOf(subject, scenario);
  let control = floor && controls.get(floor.name);
  if (floor !== undefined && control === undefined) controls.set(floor.name, (control = connect(floor)));
  const [party, against] = await Promise.all([connect(subject), control]);
  return { subject, floor, party, control: against, timeRatios: [], cycleRatios: [] };
}

/** Right after one another: a machine that drifts does so for all of them. */
async function turn(group: Group<Pair>, ms: number, round: number, tell: (plannedMs: number) => void): Promise<void> {
  const [before, after] = sidesOf(group, round);
  const sliceOf = async (party: Party | undefined): Promise<Slice | undefined> => {
    const slice = await party?.slice(ms);
    tell(party?.costs.turnMs ?? 0);
    return slice;
  };
  const first = await sliceOf(before?.party);
  const against = await sliceOf(group.members[0].control);
  const second = await sliceOf(after?.party);
  if (before !== undefined) compare(before, first, against);
  if (after !== undefined) compare(after, second, against);
}

function compare({ timeRatios, cycleRatios }: Pair, own: Slice | undefined, against: Slice | undefined): void {
  if (own === undefined) return;
  timeRatios.push(own.scoreNs === null ? Number.NaN : own.scoreNs / (own.againstNs ?? against?.scoreNs ?? Number.NaN));
  if (against !== undefined) cycleRatios.push(rate(own) / rate(against));
}

function rate({ cycles, windowMs }: Slice): number {
  return cycles / windowMs;
}

function rowOf(scenario: Scenario, { subject, floor, party, timeRatios, cycleRatios }: Pair): Row {
  const who = { scenario: scenario.name, subject: subject.name, floor: ownFloorOf(scenario) ?? floor?.name };
  // Of turns before it broke there are ratios.
  if (party.error !== undefined) return { ...who, ...party.row() };
  return {
    ...who,
    timeRatio: spread(timeRatios),
    cycleRatio: scenario.shape === "cycles" ? spread(cycleRatios) : undefined,
    ...party.row(),
    // Awake all the time, it takes a whole core whatever it has to do.
    ...(scenario.shape === "open" ? { loadShare: undefined } : undefined),
  };
}
