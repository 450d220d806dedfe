/** What we aim at, and how far a run got: ratios within one run, by the server's runtime. It judges nothing, machines differ. */

import type { Results, Row } from "../harness/results.ts";
import type { Fairness } from "../load/job.ts";
import { RUNTIMES, type RuntimeName } from "../servers/kinds.ts";
import type { Cells } from "./table.ts";
import { ratio } from "./words.ts";

interface Target {
  readonly name: string;
  /** The largest that holds, or the least, by runtime where it is not the same for all. */
  readonly atMost?: number | Readonly<Record<RuntimeName, number>>;
  readonly atLeast?: number;
  /** Undefined where the run does not know it. */
  readonly of: (rows: Rows, runtime: RuntimeName) => number | undefined;
}

/** Of a run, by scenario and subject; undefined for what was not measured, or does not count. */
type Rows = (scenario: string, subject: string) => Row | undefined;

/** Peers that queue. Who polls hands the lock to itself. */
const QUEUES = ["redis-list", "redis-lua", "postgres"] as const;

const TARGETS: readonly Target[] = [
  ...[2, 16, 128, 1024].map((clients): Target => ({
    name: `hand-off ÷ relay, ${clients} clients`,
    atMost: { bun: 1.1, deno: 1.15, node: 1.2 },
    of: (rows, runtime) => timeRatio(rows, `hot key ${clients}`, runtime),
  })),
  {
    name: "the ratio at 1024 ÷ that at 2",
    atMost: 1.05,
    of: (rows, runtime) => over(timeRatio(rows, "hot key 1024", runtime), timeRatio(rows, "hot key 2", runtime)),
  },
  ...["close frame", "FIN", "RST", "SIGKILL"].map((how): Target => ({
    name: `drop → next by ${how} ÷ by release`,
    atMost: { bun: 1.75, deno: 1.75, node: 2.25 },
    of: (rows, runtime) => timeRatio(rows, `drop → next, ${how}`, runtime),
  })),
  {
    name: "10000 sessions cut: all granted on ÷ acquiring them",
    atMost: 1,
    of: (rows, runtime) => timeRatio(rows, "drop storm 10000", runtime),
  },
  faster("drain 128: times as fast as the best that queues", 1.25, "drain 128", QUEUES),
  faster("drain 1024: the same", 2, "drain 1024", QUEUES),
  faster("drain 128: as Postgres", 5, "drain 128", ["postgres"]),
  faster("drain 128: as ZooKeeper", 5, "drain 128", ["zookeeper"]),
  faster("drain 128: as etcd", 10, "drain 128", ["etcd"]),
  faster("drain 128: as redlock", 35, "drain 128", ["redlock5", "redlock4"]),
  {
    name: "cycles of 16 clients ÷ those of the best that queues",
    atLeast: 1.3,
    of: (rows, runtime) => {
      const cycles = (subject: string): number | undefined => rows("hot key 16", subject)?.cyclesPerSecond?.median;
      return over(cycles(own(runtime)), largest(QUEUES.map(cycles)));
    },
  },
  {
    name: "uncontended 128: cycles ÷ echoes",
    atLeast: 0.5,
    of: (rows, runtime) => rows("uncontended 128", own(runtime))?.cycleRatio?.median,
  },
  {
    name: "1024 clients: grants out of their tickets' order",
    atMost: 0,
    of: (rows, runtime) => fairnessOf(rows, runtime)?.orderInversions ?? undefined,
  },
  { name: "1024 clients: starved", atMost: 0, of: (rows, runtime) => fairnessOf(rows, runtime)?.starved },
  {
    name: "1024 clients: Jain's index",
    atLeast: 0.999,
    of: (rows, runtime) => fairnessOf(rows, runtime)?.jain ?? undefined,
  },
  {
    name: "1024 clients: longest wait ÷ median",
    atMost: 2.5,
    of: (rows, runtime) => {
      const wait = rows("hot key 1024", own(runtime))?.figures?.wait;
      return wait ? wait.max / wait.p50 : undefined;
    },
  },
];

/** Turns below which a median says little. */
const ROUNDS_MIN = 3;

/** A line for each target that the run knows something of; none where it knows of none, or was too short to tell. */
export function targetsOf({ rows: all, rounds }: Pick<Results, "rows" | "rounds">): Cells {
  const titles = ["what we aim at", "", ...RUNTIMES];
  if (rounds < ROUNDS_MIN) return { titles, lines: [] };
  const rows: Rows = (scenario, subject) =>
    all.find((row) => row.scenario === scenario && row.subject === subject && row.invalid === undefined);
  const lines = TARGETS.flatMap((target) => {
    const cells = RUNTIMES.map((runtime) => cell(target, runtime, target.of(rows, runtime)));
    return cells.every((text) => text === "") ? [] : [[target.name, wanted(target), ...cells]];
  });
  return { titles, lines };
}

function cell(
  { atMost = Number.POSITIVE_INFINITY, atLeast = 0 }: Target,
  runtime: RuntimeName,
  value?: number,
): string {
  if (value === undefined || !Number.isFinite(value)) return "";
  const most = typeof atMost === "number" ? atMost : atMost[runtime];
  return `${wordsOf(value)} ${value <= most && value >= atLeast ? "✓" : "✗"}`;
}

function wordsOf(value: number): string {
  if (value === 0) return "0";
  return value >= 0.99 && value < 1 ? value.toFixed(4) : ratio(value);
}

function wanted({ atMost, atLeast }: Target): string {
  if (atMost === undefined) return `≥ ${atLeast}`;
  return typeof atMost === "number" ? `≤ ${atMost}` : `≤ ${RUNTIMES.map((runtime) => atMost[runtime]).join(", ")}`;
}

/** How many times as long the fastest of these takes as ours does. */
function faster(name: string, atLeast: number, scenario: string, peers: readonly string[]): Target {
  return {
    name,
    atLeast,
    of: (rows, runtime) => {
      const time = (subject: string): number | undefined => rows(scenario, subject)?.scoreNs?.median;
      return over(least(peers.map(time)), time(own(runtime)));
    },
  };
}

function own(runtime: RuntimeName): string {
  return `${runtime} ws-raw`;
}

function timeRatio(rows: Rows, scenario: string, runtime: RuntimeName): number | undefined {
  return rows(scenario, own(runtime))?.timeRatio?.median;
}

function fairnessOf(rows: Rows, runtime: RuntimeName): Fairness | null | undefined {
  return rows("hot key 1024", own(runtime))?.figures?.fairness;
}

function over(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a / b;
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function largest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
