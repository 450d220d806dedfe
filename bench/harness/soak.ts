/** A soak: a mixed load for as long as was asked for, on all subjects side by side, with a line for each interval. */

import type { Slice } from "../load/job.ts";
import { SOAK } from "../scenarios.ts";
import { usageOf } from "../servers/proc.ts";
import type { BenchServer } from "../servers/server.ts";
import { gaugesOf } from "../servers/view.ts";
import { soakHead, soakLine } from "../report/soak.ts";
import { costsOf } from "./costs.ts";
import { whyNot } from "./eligible.ts";
import { LoaderPool } from "./loader-pool.ts";
import type { Servers } from "./measure.ts";
import { Party } from "./party.ts";
import type { Row, SoakSample } from "./results.ts";
import type { Floor, Subject } from "./subjects.ts";
import { verdictOf } from "./verdict.ts";

const INTERVALS = 60;
const INTERVAL_MS_MIN = 1_000;

export interface SoakTurns {
  readonly intervals: number;
  readonly intervalMs: number;
}

/** A sixtieth each, but not less than a second. */
export function soakTurns(durationMs: number): SoakTurns {
  const intervalMs = Math.max(INTERVAL_MS_MIN, Math.ceil(durationMs / INTERVALS));
  return { intervals: Math.ceil(durationMs / intervalMs), intervalMs };
}

interface Soaked {
  readonly party: Party;
  readonly server: Promise<BenchServer>;
  readonly samples: SoakSample[];
}

export async function soak(
  { intervals, intervalMs }: SoakTurns,
  subjects: readonly Subject[],
  servers: Servers,
  tell: (line: string) => void,
): Promise<Row[]> {
  using pool = new LoaderPool<Subject | Floor>();
  const soaked: Soaked[] = [];
  for (const subject of subjects) {
    if ((await whyNot(SOAK, subject)) !== undefined || subject.server === undefined) continue;
    const server = servers.get(subject.server);
    const costs = costsOf(SOAK, subject, true, intervalMs);
    soaked.push({ party: await Party.prepare(subject, server, SOAK, pool, 1, costs), server, samples: [] });
  }
  tell(soakHead());
  for (let interval = 1; interval <= intervals; interval++) {
    const atMs = interval * intervalMs;
    await Promise.all(soaked.map((each) => turn(each, atMs, intervalMs)));
    for (const { party, samples } of soaked) {
      const last = samples.at(-1);
      if (last?.atMs === atMs) tell(soakLine(party.name, last));
    }
  }
  await Promise.all(soaked.map(({ party }) => party.finish()));
  return soaked.map(({ party, samples }) => ({
    scenario: SOAK.name,
    subject: party.name,
    floor: undefined,
    ...party.row(),
    soak: { samples, verdict: verdictOf(samples) },
  }));
}

async function turn({ party, server, samples }: Soaked, atMs: number, intervalMs: number): Promise<void> {
  const slice = await party.slice(intervalMs);
  if (slice?.soak === undefined) return;
  samples.push(await sampleOf(slice, slice.soak, await server, atMs));
}

async function sampleOf(
  { cycles, windowMs }: Slice,
  { lateness, ownLateness, early, crashes }: NonNullable<Slice["soak"]>,
  { url, pid }: BenchServer,
  atMs: number,
): Promise<SoakSample> {
  return {
    atMs,
    residentBytes: pid === undefined ? undefined : usageOf(pid)?.residentBytes,
    gauges: await gaugesOf(url),
    cyclesPerSecond: (cycles * 1000) / windowMs,
    lateness,
    ownLateness,
    early,
    crashes,
  };
}
