/** Who is measured: a driver, the server it talks to, and the floor that it is set against. */

import { HOSTS, type HostName, type RuntimeName, RUNTIMES, type ServerKind } from "../servers/kinds.ts";
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
  /** Before the first turn, where the server's compiler takes its time. Default: a turn. */
  readonly warmUpMs?: number;
  /** Where it is fewer than the driver's. */
  readonly clientsMax?: number;
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
const SLOW_HTTP: Subject = { ...served("workerd", "http", false), clientsMax: 16 };

export const SUBJECTS: readonly Subject[] = [
  ...HOSTS.flatMap((host) => [
    served(host, "ws-raw", host !== "workerd"),
    served(host, "ws", host === "bun"),
    host === "workerd" ? SLOW_HTTP : served(host, "http", false),
  ]),
  ...RUNTIMES.map((runtime): Subject => ({
    name: `${runtime} in-process`,
    driver: "in-process",
    server: undefined,
    load: runtime,
    floor: runtime,
    isQuick: false,
  })),
  ...RUNTIMES.map((runtime) => ({ ...served(runtime, "hand-over", false), server: `floor-${runtime}` as const })),
  { ...served("bun", "polling", false), name: "polling (bun http)" },
  peer("redis-list", "redis"),
  peer("redis-lua", "redis"),
  peer("redis-semaphore", "redis"),
  peer("redlock5", "redis"),
  peer("redlock4", "redis"),
  peer("upstash-lock", "upstash"),
  peer("postgres", "postgres"),
  peer("etcd", "etcd"),
  { ...peer("zookeeper", "zookeeper"), warmUpMs: 3_000 },
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
