/** Who is measured: a driver, the server it talks to, and the floor that it is set against. */

import { type HostName, type RuntimeName, RUNTIMES, type ServerKind } from "../servers/kinds.ts";
import { ownFloorOf, type Scenario } from "../scenarios.ts";

export interface Subject {
  readonly name: string;
  readonly driver: string;
  /** Undefined: everything happens inside the load generator. */
  readonly server: ServerKind | "given" | undefined;
  /** What runs the load generator. */
  readonly load: RuntimeName;
  readonly floor: HostName;
  readonly isQuick: boolean;
  /** Where it is fewer than the driver's. */
  readonly clientsMax?: number;
  /** About, for the plan, where it is more than usual. */
  readonly handOffMs?: number;
}

export interface Floor {
  readonly name: string;
  readonly driver: string;
  readonly server: ServerKind | undefined;
  readonly load: RuntimeName;
}

/** Peers are set against the fastest floor. */
const FASTEST: RuntimeName = "bun";

/** Each grant after a wait is held back there for 20 ms (src/workers/delivery.ts): a drain of 128 would take seconds. */
const SLOW_HTTP: Subject = { ...served("workerd", "http", false), clientsMax: 16, handOffMs: 30 };

export const SUBJECTS: readonly Subject[] = [
  ...RUNTIMES.flatMap((runtime): Subject[] => [
    served(runtime, "ws-raw", true),
    served(runtime, "ws", runtime === "bun"),
    { ...served(runtime, "http", false), handOffMs: 4 },
  ]),
  { ...served("workerd", "ws-raw", false), handOffMs: 1.2 },
  { ...served("workerd", "ws", false), handOffMs: 1.6 },
  SLOW_HTTP,
  ...RUNTIMES.map((runtime): Subject => ({
    name: `${runtime} in-process`,
    driver: "in-process",
    server: undefined,
    load: runtime,
    floor: runtime,
    isQuick: false,
  })),
  ...RUNTIMES.map((runtime) => ({ ...served(runtime, "hand-over", false), server: `floor-${runtime}` as const })),
  { ...served("bun", "polling", false), name: "polling (bun http)", handOffMs: 20 },
  peer("redis-list", "redis"),
  peer("redis-lua", "redis"),
  { ...peer("redis-semaphore", "redis"), handOffMs: 6 },
  { ...peer("redlock5", "redis"), handOffMs: 6 },
  { ...peer("redlock4", "redis"), handOffMs: 6 },
  { ...peer("upstash-lock", "upstash"), handOffMs: 40 },
  peer("postgres", "postgres"),
  { ...peer("etcd", "etcd"), handOffMs: 5 },
  { ...peer("zookeeper", "zookeeper"), handOffMs: 1.2 },
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

function served(host: HostName, driver: string, isQuick: boolean): Subject {
  return { name: `${host} ${driver}`, driver, server: `latchkey-${host}`, load: "node", floor: host, isQuick };
}

function peer(driver: string, server: ServerKind): Subject {
  return { name: driver, driver, server, load: "node", floor: FASTEST, isQuick: false };
}
