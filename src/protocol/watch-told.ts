/** What watchers are told, as types alone: clients import this file and pull in nothing. */

import type { KeyTold } from "./server-frames.ts";

/** Who holds a key and how many wait, as the session may know it that watches. */
export interface KeyState extends KeyTold {
  /** Of this session's first waiting claim on the key; 1 = next. Absent: it does not wait. */
  readonly position?: number;
  /** Those who wait and ask for the key, in queue order. Only for a session that holds it. */
  readonly asks?: readonly AskShown[];
}

export interface AskShown {
  /** Absent for a caller without a session. */
  readonly session?: string;
  readonly user?: string;
  readonly message?: string;
  readonly meta?: unknown;
  /** Whole seconds since the epoch. */
  readonly since: number;
}

/**
 * The latest state of keys, never each step to it. `full`: the first, of all that is watched; where that are many keys `more`
 * frames of it follow. After it only keys that changed come; one that is gone from a prefix comes once more, as free.
 */
export interface StateFrame {
  readonly t: "state";
  readonly id: string;
  readonly keys: readonly KeyState[];
  readonly full?: true;
  readonly more?: true;
}

export interface UnwatchedFrame {
  readonly t: "unwatched";
  readonly id: string;
}

export type WatchTold = StateFrame | UnwatchedFrame;
