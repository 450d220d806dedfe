/** The frames that a server sends, as types alone: clients import this file and pull in nothing. */

import type { Mode } from "../core/command.ts";
import type { Outcome } from "../core/lifecycle.ts";
import type { IdempotencyTold } from "./idempotency-told.ts";
import type { ProblemCode } from "./problems.ts";
import type { WatchTold } from "./watch-told.ts";

/** Answer to hello. */
export interface Welcome {
  readonly t: "welcome";
  readonly v: number;
  /** Public id of the session. */
  readonly session: string;
  /** Resumes the session; never shown to anybody else. */
  readonly secret: string;
  readonly space: string;
  /** New with each start of the server. */
  readonly epoch: number;
  /** Whether locks that outlive their connection survive a restart of the server. */
  readonly durable: boolean;
  /** The heartbeat: the server pings every `ping` ms and ends a session that was silent for `deadline` ms. */
  readonly ping: number;
  readonly deadline: number;
  /** What was granted of the grace asked for, ms. */
  readonly grace: number;
  /** Who is behind the session, where its API key says that. */
  readonly user?: string;
  /** Set where the keys of the space are spread over so many parts: this connection is for the keys of one. See `partOf`. */
  readonly spread?: number;
  readonly part?: number;
  readonly resumed: boolean;
  /** `resumed` only: all claims of the session. What is not here is gone. */
  readonly claims?: readonly ClaimTold[];
}

export interface ClaimTold {
  readonly id: string;
  readonly key: string;
  readonly state: "waiting" | "holding" | "gone";
  readonly mode: Mode;
  readonly ticket: number;
  readonly position?: number;
  readonly token?: string;
  readonly fence?: number;
  readonly depth?: number;
  readonly ttl?: number;
  readonly expires_in?: number;
  /** `gone` only: `timed_out`, `cancelled`, `released`, `expired`, … */
  readonly outcome?: Outcome;
}

export interface Queued {
  readonly t: "queued";
  readonly id: string;
  /** Order of arrival in the space. */
  readonly ticket: number;
  /** 1 = next. */
  readonly position: number;
}

export interface Granted {
  readonly t: "granted";
  readonly id: string;
  readonly key: string;
  readonly token: string;
  readonly fence: number;
  readonly mode: Mode;
  readonly reentrant: boolean;
  readonly depth: number;
  /** Both absent: the session is the lease. ms. */
  readonly ttl?: number;
  readonly expires_in?: number;
}

/** The wait of acquire `id` is over. */
export interface TimedOut {
  readonly t: "timeout";
  readonly id: string;
}

export interface Cancelled {
  readonly t: "cancelled";
  readonly id: string;
}

/**
 * Pushed with the id of an acquire when its claim ends other than by its own release; and the answer to
 * whatever showed a token that no longer holds.
 */
export interface LostFrame {
  readonly t: "lost";
  readonly id: string;
  readonly key: string;
  readonly reason: Outcome | "unknown";
  readonly by?: ByTold;
}

export interface ByTold {
  readonly session?: string;
  readonly meta?: unknown;
  readonly message?: string;
}

export interface Extended {
  readonly t: "extended";
  readonly id: string;
  readonly key: string;
  readonly fence: number;
  readonly ttl: number;
  readonly expires_in: number;
}

/** `depth` 0: let go. More: as many releases are still needed. */
export interface Released {
  readonly t: "released";
  readonly id: string;
  readonly depth: number;
  readonly already?: true;
}

/** The ask of an acquire that waits stands as it was asked for, or is withdrawn. */
export interface AccessRequested {
  readonly t: "access_requested";
  readonly id: string;
}

export interface HolderTold {
  readonly session?: string;
  /** Who is behind that session, where it said so or its API key does. */
  readonly user?: string;
  readonly mode: Mode;
  readonly fence: number;
  /** Whole seconds since the epoch. */
  readonly since: number;
  readonly expires_in?: number;
  readonly meta?: unknown;
}

export interface KeyTold {
  readonly key: string;
  readonly status: "held" | "free";
  readonly holders: readonly HolderTold[];
  readonly waiting: number;
  /** Set for a semaphore. */
  readonly limit?: number;
  /** The first of those who wait, in their order, where it was asked for. */
  readonly queue?: readonly { readonly session?: string; readonly mode: Mode }[];
}

export interface StatusFrame extends KeyTold {
  readonly t: "status";
  readonly id: string;
}

export interface ListFrame {
  readonly t: "list";
  readonly id: string;
  readonly keys: readonly KeyTold[];
  /** Give this as `after` to go on; absent at the end. */
  readonly next?: string;
}

export interface RevokedFrame {
  readonly t: "revoked";
  readonly id: string;
  readonly count: number;
}

/** A request was not carried out and changed nothing. */
export interface RefusedFrame {
  readonly t: "refused";
  readonly id: string;
  readonly code: ProblemCode;
  readonly detail: string;
  readonly retryable: boolean;
  readonly limit?: string;
  readonly retry_after_ms?: number;
}

/** Something is wrong with a frame that has no usable id, or with the connection, which then closes. */
export interface ErrorFrame {
  readonly t: "error";
  readonly code: ProblemCode;
  readonly detail: string;
}

/** The server shuts down; the close 1012 follows. Wait this many ms before connecting again. */
export interface Draining {
  readonly t: "draining";
  readonly retry_after_ms: number;
}

export type ServerFrame =
  | Welcome
  | Queued
  | Granted
  | TimedOut
  | Cancelled
  | LostFrame
  | Extended
  | Released
  | AccessRequested
  | StatusFrame
  | ListFrame
  | RevokedFrame
  | RefusedFrame
  | ErrorFrame
  | Draining
  | WatchTold
  | IdempotencyTold;

/** The heartbeat's three frames, bare text. */
export const PING = "ping";
export const PONG = "pong";
export const ACK = "ack";
