/** A scenario: all its subjects and their floors, connected at once, take turns at the machine. */

import { driverOf } from "../drivers/all.ts";
import type { Capabilities } from "../drivers/driver.ts";
import { spread } from "../figures.ts";
import type { Slice } from "../load/job.ts";
import { isOnce, ownFloorOf, type Scenario, type Shape } from "../scenarios.ts";
import type { ServerKind } from "../servers/kinds.ts";
import type { BenchServer } from "../servers/server.ts";
import { Party } from "./party.ts";
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

export async function measure(
  scenario: Scenario,
  subjects: readonly Subject[],
  turns: Turns,
  servers: Servers,
): Promise<Row[]> {
  const rows: Row[] = [];
  const controls = new Map<string, Promise<Party>>();
  const preparing: Promise<Pair>[] = [];
  for (const subject of subjects) {
    const why = (await whyNot(scenario, subject)) ?? (subject.server && servers.whyMissing(subject.server));
    if (why === undefined) preparing.push(prepare(scenario, subject, controls, servers, turns.loaders));
    else if (why !== "") rows.push({ scenario: scenario.name, subject: subject.name, floor: undefined, skipped: why });
  }
  const pairs = await Promise.all(preparing);
  const floors = await Promise.all(controls.values());
  const parties = [...floors, ...pairs.map(({ party }) => party)];
  if (!isOnce(scenario)) {
    for (const party of parties) await party.warmUp(turns.sliceMs);
  }
  const rounds = isOnce(scenario) ? 1 : turns.rounds;
  for (let round = 0; round < rounds; round++) {
    for (const pair of pairs) await turn(pair, turns.sliceMs, round % 2 === 0);
  }
  for (const party of parties) await party.finish();
  for (const party of floors)
    rows.push({ scenario: scenario.name, subject: party.name, floor: undefined, ...party.row() });
  rows.push(...pairs.map((pair) => rowOf(scenario, pair)));
  return rows;
}

const DROPPING: ReadonlySet<Shape> = new Set<Shape>(["drop", "crash", "storm", "reconnect", "soak"]);
const TOLD: ReadonlySet<Shape> = new Set<Shape>(["storm", "reconnect", "soak"]);

/** Empty: it makes no sense, and nobody has to hear of it. */
export async function whyNot(
  { shape, readers, limit, keys, clients, cut }: Scenario,
  { driver, server, clientsMax: ownMax = Number.POSITIVE_INFINITY }: Subject,
): Promise<string | undefined> {
  const { can }: { readonly can: Capabilities } = await driverOf(driver);
  if (DROPPING.has(shape) && !can.drop) return "";
  // Only our own servers tell what is left of those who were cut, and only our own frames can be followed by a reset.
  const isOwn = /^(?:latchkey-|given$)/.test(server ?? "");
  if ((TOLD.has(shape) || cut === "frame" || cut === "rst") && !isOwn) return "";
  // Whoever polls is late by its own pause; what has no server has no queue outside of this process.
  if (shape === "open" && (!can.quiet || server === undefined)) return "";
  if (readers > 0 && !can.shared) return "";
  if (limit !== undefined && !can.limit) return "";
  if (keys !== "hot" && !can.keys) return "";
  const clientsMax = Math.min(can.clientsMax, ownMax);
  return clients > clientsMax ? `at most ${clientsMax} clients` : undefined;
}

async function prepare(
  scenario: Scenario,
  subject: Subject,
  controls: Map<string, Promise<Party>>,
  servers: Servers,
  loaders: number,
): Promise<Pair> {
  const connect = async (who: Subject | Floor): Promise<Party> =>
    Party.prepare(who, who.server && (await servers.get(who.server)), scenario, loaders);
  const floor = floorOf(subject, scenario);
  let control = floor && controls.get(floor.name);
  if (floor !== undefined && control === undefined) controls.set(floor.name, (control = connect(floor)));
  const [party, against] = await Promise.all([connect(subject), control]);
  return { subject, floor, party, control: against, timeRatios: [], cycleRatios: [] };
}

/** The two right after one another, now one and now the other first: a machine that drifts does so for both. */
async function turn(
  { party, control, timeRatios, cycleRatios }: Pair,
  ms: number,
  isFloorFirst: boolean,
): Promise<void> {
  let against = isFloorFirst ? await control?.slice(ms) : undefined;
  const own = await party.slice(ms);
  if (!isFloorFirst) against = await control?.slice(ms);
  if (own === undefined) return;
  timeRatios.push(own.scoreNs === null ? Number.NaN : own.scoreNs / (own.againstNs ?? against?.scoreNs ?? Number.NaN));
  if (against !== undefined) cycleRatios.push(rate(own) / rate(against));
}

function rate({ cycles, windowMs }: Slice): number {
  return cycles / windowMs;
}

function rowOf(scenario: Scenario, { subject, floor, party, timeRatios, cycleRatios }: Pair): Row {
  return {
    scenario: scenario.name,
    subject: subject.name,
    floor: ownFloorOf(scenario) ?? floor?.name,
    timeRatio: spread(timeRatios),
    cycleRatio: scenario.shape === "cycles" ? spread(cycleRatios) : undefined,
    ...party.row(),
    // Awake all the time, it takes a whole core whatever it has to do.
    ...(scenario.shape === "open" ? { loadShare: undefined } : undefined),
  };
}
