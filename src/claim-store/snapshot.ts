/** What a user interface shows of a lock: plain values, another object only when something changed. */

import type { AccessAsk, By, KeyHolder, LossReason } from "../client/index.ts";

export type ClaimState =
  /** Nobody here wants it. */
  | "idle"
  /** Wanted, without a connection. */
  | "connecting"
  /** In the queue. */
  | "waiting"
  | "held"
  /** It was held and ended, see `lossReason` and `by`. */
  | "lost"
  /** The client is closed, or the server cannot serve; see `error`. */
  | "unavailable"
  /** It was refused; see `error`. */
  | "error";

export interface ClaimSnapshot {
  readonly state: ClaimState;
  /** While it waits: 1 = next. */
  readonly position: number | undefined;
  /** How many wait for the key, this claim too. */
  readonly waiting: number;
  readonly holders: readonly KeyHolder[];
  /** Whether `position`, `waiting`, `holders` and `asks` are as things stand now; false while the connection is away. */
  readonly isCurrent: boolean;
  /** While it is held: give it to the resource that the lock protects. */
  readonly fence: number | undefined;
  /** While it is held, and after its loss: aborts before anybody else can have the lock. */
  readonly signal: AbortSignal | undefined;
  /** How it was lost last, and by whom; until it is held again, asked for by hand, or released. */
  readonly lossReason: LossReason | undefined;
  readonly by: By | undefined;
  /** While it is held: who asks for it, in queue order. */
  readonly asks: readonly AccessAsk[];
  readonly error: Error | undefined;
}

/** Also what a server renders: there is no connection there. */
export const IDLE: ClaimSnapshot = Object.freeze({
  state: "idle",
  position: undefined,
  waiting: 0,
  holders: Object.freeze([]),
  isCurrent: false,
  fence: undefined,
  signal: undefined,
  lossReason: undefined,
  by: undefined,
  asks: Object.freeze([]),
  error: undefined,
});

/** The one before if they say the same. */
export function settled<Snapshot extends object>(before: Snapshot, now: Snapshot): Snapshot {
  const keys = Object.keys(now) as (keyof Snapshot)[];
  return keys.every((key) => Object.is(before[key], now[key])) ? before : Object.freeze(now);
}
