/** What is measured, as data. */

/** `cycles`: all clients take, hold and let go, over and over. `drain`: all queue first, then one pass. `storm`: see storm.ts. */
export type Shape = "cycles" | "drain" | "drop" | "storm";

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
}

export interface Run {
  readonly scenarios: readonly Scenario[];
  readonly rounds: number;
  readonly sliceMs: number;
}

const base = { shape: "cycles", keys: "hot", holdMs: 0, readers: 0, limit: undefined, floor: "relay" } as const;

/** Of a sleeping program that polls, so that a slice sees several of its turns, and of what gets nothing done in less. */
export const LONG_SLICE_MS = 1_500;

function hot(clients: number): Scenario {
  return { ...base, name: `hot key ${clients}`, clients };
}

function drain(clients: number): Scenario {
  return { ...base, name: `drain ${clients}`, shape: "drain", clients };
}

function storm(sessions: number): Scenario {
  return { ...base, name: `drop storm ${sessions}`, shape: "storm", clients: sessions, keys: "own" };
}

function alone(clients: number): Scenario {
  return { ...base, name: `uncontended ${clients}`, clients, keys: "own", floor: "echo" };
}

const HELD: Scenario = { ...base, name: "held 1 ms", clients: 16, holdMs: 1 };
const DROP: Scenario = { ...base, name: "drop → next", shape: "drop", clients: 2 };

const MIXED: readonly Scenario[] = [
  { ...base, name: "readers and a writer", clients: 16, readers: 15, holdMs: 1 },
  { ...base, name: "semaphore of 4", clients: 16, readers: 16, limit: 4, holdMs: 1 },
  { ...base, name: "zipf 64 keys", clients: 64, keys: 64 },
];

export function fullRun(sessions: number): Run {
  return {
    scenarios: [
      ...[1, 128].map(alone),
      ...[2, 16, 128, 1024].map(hot),
      HELD,
      ...MIXED,
      ...[128, 1024].map(drain),
      DROP,
      storm(sessions),
    ],
    rounds: 5,
    sliceMs: 300,
  };
}

/** One of each kind. */
export function quickRun(sessions: number): Run {
  return {
    scenarios: [alone(16), hot(16), hot(128), ...MIXED, drain(128), DROP, storm(sessions)],
    rounds: 2,
    sliceMs: 100,
  };
}
