/** Who is measured: a driver, the server it talks to, and the floor that it is set against. */

import type { RuntimeName, ServerKind } from "../servers/kinds.ts";
import { ownFloorOf, type Scenario } from "../scenarios.ts";

export interface Subject {
  readonly name: string;
  readonly driver: string;
  /** Undefined: everything happens inside the load generator. */
  readonly server: ServerKind | "given" | undefined;
  /** What runs the load generator. */
  readonly load: RuntimeName;
  readonly floor: RuntimeName;
  readonly isQuick: boolean;
}

export interface Floor {
  readonly name: string;
  readonly driver: string;
  readonly server: ServerKind | undefined;
  readonly load: RuntimeName;
}

const RUNTIMES: readonly RuntimeName[] = ["bun", "deno", "node"];

/** Peers are set against the fastest floor. */
const FASTEST: RuntimeName = "bun";

export const SUBJECTS: readonly Subject[] = [
  ...RUNTIMES.flatMap((runtime) => [
    served(runtime, "ws-raw", true),
    served(runtime, "ws", runtime === "bun"),
    served(runtime, "http", false),
  ]),
  ...RUNTIMES.map((runtime): Subject => ({
    name: `${runtime} in-process`,
    driver: "in-process",
    server: undefined,
    load: runtime,
    floor: runtime,
    isQuick: false,
  })),
  { ...served("bun", "polling", false), name: "polling (bun http)" },
  peer("redis-list", "redis"),
  peer("redis-semaphore", "redis"),
  peer("redlock5", "redis"),
  peer("redlock4", "redis"),
  peer("postgres", "postgres"),
];

/** A server that runs somewhere: through hand-written frames, set against our own floor on Node, for want of its own. */
export const GIVEN: Subject = {
  name: "given ws-raw",
  driver: "ws-raw",
  server: "given",
  load: "node",
  floor: "node",
  isQuick: true,
};

/** The process beside it that a subject's row is a multiple of, or whose memory the row's is compared with (storm). */
export function floorOf(subject: Subject, scenario: Scenario): Floor | undefined {
  const { floor, shape } = scenario;
  if (shape !== "storm" && ownFloorOf(scenario) !== undefined) return undefined;
  if (subject.server === undefined) {
    return shape === "storm"
      ? undefined
      : { name: `mutex on ${subject.load}`, driver: "mutex", server: undefined, load: subject.load };
  }
  return { name: `${floor} on ${subject.floor}`, driver: floor, server: `floor-${subject.floor}`, load: "node" };
}

function served(runtime: RuntimeName, driver: string, isQuick: boolean): Subject {
  return { name: `${runtime} ${driver}`, driver, server: `latchkey-${runtime}`, load: "node", floor: runtime, isQuick };
}

function peer(driver: string, server: ServerKind): Subject {
  return { name: driver, driver, server, load: "node", floor: FASTEST, isQuick: false };
}
