/**
 * All that the host needs from the runtime it runs in. A runtime file provides these and calls
 * `host.fetch`, `host.admit`, `host.opened`, `host.message`, `host.closed` and `host.woken`.
 */

import type { RecordImage } from "../core/idempotency/record.ts";
import type { Change, SpaceImage } from "../core/record.ts";
import type { ConnectionMemory } from "./memory.ts";

export interface Clock {
  /** Monotonic ms, with fractions: rounding would let leases end early. All leases are counted on it. */
  now(): number;
  /** Wall clock, ms since the epoch: for display, and for deadlines that must survive a restart. */
  wall(): number;
  /** Set when both are the same clock: an instant then means the same after a restart, to the ms. */
  readonly isWall?: true;
}

/** The host's one timer. */
export interface Alarm {
  /**
   * Call `host.woken()` once, not before `at` (in `Clock.now()` time). A second call replaces the first;
   * Infinity means not at all.
   */
  set(at: number): void;
}

export interface Mint {
  /** An unguessable text of at least 128 random bits, URL-safe. */
  token(): string;
}

export interface Batch {
  readonly changes: readonly Change[];
  /** Only this many of `changes` are valid. */
  readonly changeCount: number;
  /** Set when the space needs more numbers: no start may give out a ticket or fence up to this one again. */
  readonly serialReserved?: number;
}

export interface StoredSpace {
  readonly image: SpaceImage;
  /** Number to go on from: above every ticket and fence that any earlier start can have given out. */
  readonly serial: number;
}

export interface Store {
  /** Whether what was committed survives the end of the process. */
  readonly durable: boolean;
  /** Rises with each start. */
  readonly epoch: number;
  /** Throws when the space cannot be read: then it must not be served. */
  load(space: string): StoredSpace | Promise<StoredSpace>;
  /**
   * All of a batch or nothing of it. When it returns (or its promise resolves) the batch survives `kill -9`.
   * Throws or rejects when it does not: the caller's memory is then ahead of the store.
   */
  commit(space: string, batch: Batch): void | Promise<void>;
  /**
   * The idempotency record of a key, as committed last. Throws when it cannot be read: then nobody may be told anything about
   * this key, and nothing is written over it.
   */
  find(space: string, key: string): RecordImage | undefined;
  /** Whether no record can be kept that is not kept already. Absent: there is always room. */
  isFull?(): boolean;
  /**
   * Goes on deleting the records that have expired by `now`, with a look at `countMax` records at most and in no more time than nobody
   * notices. Returns when to call it again, in `Clock.now()` time: `now` while there are more to look at, Infinity when there is nothing to come.
   * What is committed while a look at all of them is under way may be left out of that.
   */
  sweep(now: number, countMax: number): number;
  close(): void | Promise<void>;
}

export interface Socket {
  /** Distinguishes the sockets of this process. */
  readonly id: string;
  /** False when the runtime did not take the message: the connection is then dead. */
  send(text: string): boolean;
  /** `reason` at most 123 bytes. Closing a closed socket does nothing. */
  close(code: number, reason: string): void;
  /** Bytes taken but not yet sent, as far as the runtime tells. */
  readonly buffered: number;
  /** When the runtime itself last answered a `pong` that the host was not shown; in `Clock.now()` time. */
  readonly heardAt?: number | undefined;
  /** Where sockets outlive the program's memory: keeps what `host.reopened` needs; undefined: nothing, it is over. */
  remember?(memory: ConnectionMemory | undefined): void;
}

/** Set where the keys of a space are spread over several hosts: this one has the keys of one part. */
export interface Share {
  readonly part: number;
  readonly spread: number;
}

/** Set where the program's memory can vanish while its sockets live on, and calls live on when their caller is gone. */
export interface Hibernation {
  /** All sockets are pinged together, so that one wake-up does for all: this long after each multiple of the interval. */
  readonly pingPhaseMs: number;
  /** A grant to a caller that had to wait is taken back when its delivery is not confirmed for so long. */
  readonly confirmMs: number;
  /** How long a caller whose call broke off may come back, under its request id, for its place in the queue. */
  readonly returnMs: number;
  /** What ended is forgotten in groups, at multiples of this, since each wake-up costs. */
  readonly forgetEveryMs: number;
}
