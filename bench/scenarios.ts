/** What is measured, as data. */

import type { Cut } from "./drivers/driver.ts";

/**
 * `cycles`: all clients take, hold and let go, over and over. `drain`: all queue first, then one pass. `drop`: one holds and
 * is cut, one waits. `crash`: cycles in which every third holder is cut. `storm`, `reconnect`, `open`, `soak`: see
 * load/storm.ts, load/reconnect.ts, load/open.ts and load/soak.ts.
 */
export type Shape = "cycles" | "drain" | "drop" | "crash" | "storm" | "reconnect" | "open" | "soak";

/** When clients of an open loop come: at so many a second, or at a share of what a closed loop did right before. */
export interface Arrivals {
  readonly kind: "poisson" | "fixed";
  readonly rate: { readonly perSecond: number } | { readonly share: number };
}

export interface Scenario {
  readonly name: string;
  readonly shape: Shape;
  readonly clients: number;
  /** `hot`: one key. `own`: one a client. A number: so many, drawn by Zipf's law. */
  readonly keys: "hot" | "own" | number;
  readonly holdMs: number;
  /** How many of the clients ask for `shared`. */
  readonly readers: number;
  /** Of a semaphore. */
  readonly limit: number | undefined;
  /** Against what a row is set: the text that goes round, or the text there and back. */
  readonly floor: "relay" | "echo";
  /** How the holder of a drop goes: `kill` is SIGKILL for the process that it is in. */
  readonly cut?: Cut | "kill";
  /** Of an open loop. */
  readonly arrivals?: Arrivals;
}

export interface Run {
  readonly scenarios: readonly Scenario[];
  /** Whether servers are driven for a while before anything is measured. */
  readonly isWarm: boolean;
  readonly rounds: number;
  readonly sliceMs: number;
}

export interface Choices {
  /** That a drop storm and a reconnect storm cut; undefined: as many as the run can afford. */
  readonly sessions: number | undefined;
  readonly arrivals: Arrivals["kind"];
  /** Of the open loop, each second; undefined: shares of the closed loop's. */
  readonly ratePerSecond: number | undefined;
}

const base = { shape: "cycles", keys: "hot", holdMs: 0, readers: 0, limit: undefined, floor: "relay" } as const;

/** Of a sleeping program that polls, so that a slice sees several of its turns, and of what gets nothing done in less. */
export const LONG_SLICE_MS = 1_500;

/** So many that an arrival finds one that is idle, unless the lock itself is behind. */
const OPEN_CLIENTS = 128;

/** Scenarios that are run once, on a server without a past: what they leave behind is what they are about. */
export function isOnce({ shape }: Scenario): boolean {
  return shape === "storm" || shape === "reconnect";
}

/** What a row is a multiple of, where the scenario brings its own measure and needs no other process for it. */
export function ownFloorOf({ shape }: Scenario): string | undefined {
  switch (shape) {
    case "drop":
    case "crash":
      return "release → next";
    case "storm":
      return "acquiring them";
    case "reconnect":
      return "the first connect";
    case "open":
      return "a cycle of the closed loop";
    case "cycles":
    case "drain":
    case "soak":
      return undefined;
  }
}

function hot(clients: number): Scenario {
  return { ...base, name: `hot key ${clients}`, clients };
}

function drain(clients: number): Scenario {
  return { ...base, name: `drain ${clients}`, shape: "drain", clients };
}

function drop(cut: Cut | "kill"): Scenario {
  const how = { frame: "close frame", fin: "FIN", rst: "RST", kill: "SIGKILL" };
  return { ...base, name: `drop → next, ${how[cut]}`, shape: "drop", clients: 2, cut };
}

function storm(sessions: number): Scenario {
  return { ...base, name: `drop storm ${sessions}`, shape: "storm", clients: sessions, keys: "own" };
}

function reconnect(sessions: number): Scenario {
  return { ...base, name: `reconnect storm ${sessions}`, shape: "reconnect", clients: sessions, keys: "own" };
}

function alone(clients: number): Scenario {
  return { ...base, name: `uncontended ${clients}`, clients, keys: "own", floor: "echo" };
}

function open(name: string, arrivals: Arrivals): Scenario {
  return { ...base, name: `open loop ${name}`, shape: "open", clients: OPEN_CLIENTS, arrivals };
}

/** At a rate that was asked for, or at these shares of the closed loop's. */
function openLoops({ arrivals: kind, ratePerSecond }: Choices, shares: readonly number[]): Scenario[] {
  if (ratePerSecond !== undefined) return [open(`${ratePerSecond}/s`, { kind, rate: { perSecond: ratePerSecond } })];
  return shares.map((share) => open(`${share * 100} %`, { kind, rate: { share } }));
}

const HELD: Scenario = { ...base, name: "held 1 ms", clients: 16, holdMs: 1 };
const DROPS: readonly Scenario[] = (["frame", "fin", "rst", "kill"] as const).map(drop);
const CRASH: Scenario = { ...base, name: "crash of every third holder", shape: "crash", clients: 16 };

const MIXED: readonly Scenario[] = [
  { ...base, name: "readers and a writer", clients: 16, readers: 15, holdMs: 1 },
  { ...base, name: "semaphore of 4", clients: 16, readers: 16, limit: 4, holdMs: 1 },
  { ...base, name: "zipf 64 keys", clients: 64, keys: 64 },
];

/** A mixed load of its own: load/soak.ts says which. */
export const SOAK: Scenario = { ...base, name: "soak", shape: "soak", clients: 64, keys: 64, readers: 7 };

/** What servers are driven with before anything is measured: harness/warm-up.ts. */
export const WARM_UP: Scenario = hot(16);

export function fullRun(choices: Choices): Run {
  return {
    scenarios: [
      ...[1, 128].map(alone),
      ...[2, 16, 128, 1024].map(hot),
      HELD,
      ...MIXED,
      ...openLoops(choices, [0.5, 0.8]),
      ...[128, 1024].map(drain),
      ...DROPS,
      CRASH,
      storm(choices.sessions ?? 10_000),
      reconnect(choices.sessions ?? 10_000),
    ],
    isWarm: true,
    rounds: 3,
    sliceMs: 300,
  };
}

/** One of each kind. */
export function quickRun(choices: Choices): Run {
  return {
    scenarios: [
      alone(16),
      hot(16),
      hot(128),
      ...MIXED,
      ...openLoops(choices, [0.5]),
      drain(128),
      ...DROPS,
      CRASH,
      storm(choices.sessions ?? 1_000),
      reconnect(choices.sessions ?? 2_000),
    ],
    isWarm: false,
    rounds: 2,
    sliceMs: 100,
  };
}
