/**
 * How long things are expected to take, ms: measured once on two cores, and good for a plan. What a machine makes of them shows
 * as the run goes on (progress.ts).
 */

import { passesIn } from "../load/drain.ts";
import { isOnce, LONG_SLICE_MS, type Scenario } from "../scenarios.ts";
import type { Kind } from "./progress.ts";
import type { Floor, Subject } from "./subjects.ts";

export interface Costs {
  readonly prepareMs: number;
  readonly warmUpMs: number;
  /** One. */
  readonly turnMs: number;
  readonly finishMs: number;
}

/** A process that loads its driver, on a core that all load generators share. */
export const START_MS = 190;
const CONNECT_MS = 0.8;
/** Before and after a turn: orders, what is under way, processor times. */
const AROUND_MS = 12;
const HAND_OFF_MS = 0.3;
const FLOOR_HAND_OFF_MS = 0.12;
/** Until all stand in line, by client (load/drain.ts). */
const QUEUE_MS = 20;
const QUEUE_EACH_MS = 0.2;
/** A process that holds a lock in order to be killed. */
const VICTIM_MS = 600;
/** A session of a storm: it connects, acquires, is waited for, is cut, and is forgotten; one that only connects. */
const STORM_EACH_MS = 0.7;
const SOCKET_EACH_MS = 0.3;
const STORM_MS = 1_500;
/** A session of a reconnect storm, both times. */
const RECONNECT_EACH_MS = 2;

export function costsOf(scenario: Scenario, who: Subject | Floor, isQuiet: boolean, sliceMs: number): Costs {
  const { shape, clients } = scenario;
  const turnMs = turnOf(scenario, who, isLong(scenario, isQuiet) ? LONG_SLICE_MS : sliceMs) + AROUND_MS;
  return {
    prepareMs: (isQuiet ? AROUND_MS : START_MS) + (isOnce(scenario) ? 0 : clients * CONNECT_MS),
    warmUpMs: isOnce(scenario) ? 0 : turnOf(scenario, who, sliceMs) + AROUND_MS,
    turnMs,
    finishMs: AROUND_MS + (shape === "cycles" && isQuiet ? clients * handOffMs(who) : 0),
  };
}

/** Of a turn: whether it lasts for a given time, or until something is done. */
export function kindOf({ shape, cut }: Scenario): Kind {
  return shape === "drain" || shape === "storm" || shape === "reconnect" || cut === "kill" ? "work" : "turns";
}

/** Whoever polls needs longer turns to see several of its own pauses, where others keep it waiting for as long as it likes. */
export function isLong({ shape, keys }: Scenario, isQuiet: boolean): boolean {
  return !isQuiet && shape === "cycles" && keys !== "own";
}

function turnOf({ shape, clients, cut }: Scenario, who: Subject | Floor, sliceMs: number): number {
  const passMs = QUEUE_MS + clients * (QUEUE_EACH_MS + handOffMs(who));
  switch (shape) {
    case "drain":
      return passesIn(sliceMs, passMs) * passMs;
    case "drop":
      return cut === "kill" ? Math.ceil(sliceMs / VICTIM_MS) * VICTIM_MS : sliceMs;
    case "open":
      return 1.5 * sliceMs;
    case "storm":
      return isSubject(who) ? STORM_MS + clients * STORM_EACH_MS : STORM_MS + clients * SOCKET_EACH_MS;
    case "reconnect":
      return clients * RECONNECT_EACH_MS;
    case "cycles":
    case "crash":
    case "soak":
      return sliceMs;
  }
}

function handOffMs(who: Subject | Floor): number {
  return isSubject(who) ? (who.handOffMs ?? HAND_OFF_MS) : FLOOR_HAND_OFF_MS;
}

function isSubject(who: Subject | Floor): who is Subject {
  return "floor" in who;
}
