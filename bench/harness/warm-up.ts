/**
 * What is compiled while it runs takes three to five times the processor time for a cycle when it has just started, for some ten
 * thousand of them: our servers, the floors, and all load generators. Before the first scenario each load generator does as many with
 * its server, ours and the peers' and the floors' in the same way.
 */

import { type Scenario, WARM_UP } from "../scenarios.ts";
import type { BenchServer } from "../servers/server.ts";
import type { Loaders } from "./loaders.ts";
import type { Floor, Subject } from "./subjects.ts";

const CYCLES = 20_000;
/** For those that would take much longer: they wait for a disk, and compile little. */
const MS_MAX = 3_000;
const TURN_MS = 250;
/** About what a cycle takes meanwhile, ms: for the plan. */
const CYCLE_MS = 0.12;
const FLOOR_CYCLE_MS = 0.06;

/** For the plan. */
export function warmUpMsOf(who: Subject | Floor): number {
  if (who.server === undefined) return TURN_MS;
  const cycleMs = "floor" in who ? (who.handOffMs ?? CYCLE_MS) : FLOOR_CYCLE_MS;
  return Math.min(MS_MAX, CYCLES * cycleMs);
}

export async function warmUp(who: Subject | Floor, loaders: Loaders, server: BenchServer | undefined): Promise<void> {
  const row = `warm-up-${who.name.replaceAll(/\W/g, "-")}-${process.pid}`;
  const keys = Array.from({ length: WARM_UP.clients }, (_, index) => `${row}:${index}`);
  const target = { url: server?.url ?? "", row, keys };
  await loaders.prepare({ driver: who.driver, target, scenario: scenarioFor(who), serverPid: server?.pid });
  let cycles = 0;
  for (let ms = 0; cycles < CYCLES && ms < MS_MAX; ms += TURN_MS) {
    cycles += (await loaders.slice(TURN_MS, true)).cycles;
  }
  await loaders.figures();
  await loaders.end();
}

/** An echo has no lock to wait for. */
function scenarioFor({ driver }: Subject | Floor): Scenario {
  return driver === "echo" ? { ...WARM_UP, keys: "own" } : WARM_UP;
}
