/** What a watch of keys shows, and how it is looked at. */

import type { Holder, KeyStatus } from "./locks.ts";

export interface KeyHolder extends Holder {
  /** It is this client's own session. */
  readonly isMe: boolean;
  /** Both sessions have a user, the same one: perhaps this person in another tab. */
  readonly isSameUser: boolean;
}

/** Somebody who waits and asks whoever holds the key for it. */
export interface AccessAsk {
  /** Give this to `handTo`. Absent for a caller without a session. */
  readonly session?: string;
  readonly user?: string;
  readonly message?: string;
  readonly meta?: unknown;
  /** Since when it asks, in whole seconds since the epoch. */
  readonly since: number;
}

export interface KeyState extends KeyStatus {
  readonly holders: readonly KeyHolder[];
  /** Of this client's first claim that waits for the key; 1 = next. Absent: none waits. */
  readonly position?: number;
  /** Who asks for the key, in queue order, at most 100. Told to those who hold it, absent for others. */
  readonly asks?: readonly AccessAsk[];
}

/** One key, or all live keys that start so. */
export type Watched = string | { readonly prefix: string };

export interface WatchOptions {
  /** Closes the watch. */
  readonly signal?: AbortSignal | undefined;
}

/** `detail`: the keys that changed. It is empty when only `isCurrent` did. */
export type WatchListener = (event: CustomEvent<readonly KeyState[]>) => void;

/**
 * The latest state of what is watched, kept until it is closed, over losses of the connection too. As an async iterator it gives each
 * key's latest state, first of all that is known, then of what changes; states that a slow reader misses are skipped. It ends
 * when the watch is closed, and throws when the server refused it: a `LimitError` or `RefusedError`, which goes to `onError` as well.
 * Whoever leaves the loop leaves the watch open, for others who look at it: `using` closes it, or `close`, or the signal.
 */
export interface Watch extends AsyncIterable<KeyState>, Disposable {
  /** Of the watched key; with a prefix, and before the server has told, undefined. Another object only when something changed. */
  readonly state: KeyState | undefined;
  /** By key, the watched one or the live ones. Another map only when something changed. */
  readonly states: ReadonlyMap<string, KeyState>;
  /** Whether this is how things stand now. False before the server has told and while the connection is away: it may be old then. */
  readonly isCurrent: boolean;
  addEventListener(type: "change", listener: WatchListener): void;
  removeEventListener(type: "change", listener: WatchListener): void;
  /** Calls `listener` after every change. Returns what ends that. */
  subscribe(listener: () => void): () => void;
  close(): void;
}
