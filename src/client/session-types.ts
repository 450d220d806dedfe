/** What goes into the session machine, what comes out of it, and what it keeps. */

import type { ClientFrame } from "../protocol/frames.ts";
import type {
  AttemptExtendedFrame,
  CompletedFrame,
  FailedFrame,
  ForgottenFrame,
  ReplayFrame,
  StartedFrame,
} from "../protocol/idempotency-told.ts";
import type { AccessRequested, Extended, ListFrame, Released, StatusFrame } from "../protocol/server-frames.ts";
import type { Ports } from "./clock.ts";
import type { ConnectOptions } from "./connect.ts";
import type { LatchkeyError, LockLostError } from "./errors.ts";
import type { Grant, Granted } from "./lock.ts";
import type { AcquireOptions, OnError } from "./locks.ts";

/** What a session is to be like. */
export type SessionSettings = Pick<ConnectOptions, "space" | "grace" | "meta" | "user" | "requeue" | "reconnect">;

/** `connecting` until the first welcome, `connected`, `reconnecting` after a loss, `closed` for good. */
export type ConnectionStatus = "connecting" | "connected" | "reconnecting" | "closed";

/** What the machine acts on, when a step is over. */
export interface World {
  readonly ports: Pick<Ports, "random">;
  readonly socket: {
    /** Get a credential, open a socket, and say `opened` or `closed`. */
    open(): void;
    send(text: string): void;
    /** Close the socket, or give up opening it. Nothing it says later counts. */
    hangUp(code?: number): void;
  };
  /** `error`: why it is closed. */
  changed(status: ConnectionStatus, error?: LatchkeyError): void;
  /** Nobody asked, but somebody should know. */
  readonly onError: OnError;
}

/** Who waits for an answer. */
export interface Call {
  tell(told: Answer | Held): void;
  refuse(error: Error): void;
}

/** `until`: when it must be taken for over. */
export type StartTold = StartedFrame & { readonly until: number };

export type Answer =
  | Extended
  | Released
  | AccessRequested
  | StatusFrame
  | ListFrame
  | StartTold
  | ReplayFrame
  | CompletedFrame
  | FailedFrame
  | AttemptExtendedFrame
  | ForgottenFrame;

export type Wanted = Omit<AcquireOptions, "signal">;

/**
 * What can be asked in a session. The book adds the id. `timeout`: how long the caller waits, ms, absent or 0: as long as an answer takes;
 * of a claim the server is told what is left of it.
 */
export type Ask = Asking<
  Extract<
    ClientFrame,
    { t: "acquire" | "extend" | "release" | "hand_to" | "request_access" | "status" | "list" | IdempotencyAsk }
  >
>;

type IdempotencyAsk = "begin" | "complete" | "fail" | "extend_attempt" | "forget";

type Asking<Frame> = Frame extends unknown
  ? Omit<Frame, "id" | "timeout"> & { readonly timeout?: number | undefined }
  : never;

/** Of which code the error is when a wait came to nothing: an acquire's, or a begin's. */
export type Over = "timeout" | "in_progress";

/** A request without a final answer. */
export interface Entry {
  /** Absent: nobody waits for the answer. */
  readonly call: Call | undefined;
  readonly frame: Ask;
  /** What may be waited for. */
  readonly over: Over | undefined;
  /** The caller is told then that it failed. Infinity: only the server's word or the loss of the hold ends it. */
  readonly giveUpAt: number;
  /** Nested acquire, extend, release: the hold it is about. It fails when that is lost. */
  readonly hold: Held | undefined;
  id: string;
  /** When it was sent in this session; undefined: it has to be sent. */
  sentAt?: number | undefined;
  /** Not before this: the server said "later". */
  sendAt: number;
  /** Acquire: the server said that it waits, so its grant comes unasked. */
  isQueued?: boolean;
  /** Acquire that asks whoever holds the key for it: a claim that queues anew has not asked yet. */
  afterSend?: (() => unknown) | undefined;
  /** The frame as it was sent, which may be sent again to ask how a claim stands. */
  text?: string;
  /** Extend: the end of the lease before it was sent. */
  leaseBefore?: number;
}

/** A lock as granted to this session, shared by nested acquires. */
export interface Held extends Granted {
  /** Of its acquire. */
  readonly id: string;
  /** The session that it was granted to. A kept lock outlives it. */
  readonly session: string | undefined;
  readonly keep?: boolean | undefined;
  readonly grant: Grant;
  /** The lease as asked last, ms. */
  ttl?: number | undefined;
  leaseUntil: number;
  /** When the server was asked last how the claim stands. */
  readonly askedAt: number;
  /** Handles that were not released, and nested acquires on their way. 0: its last release is on its way. */
  handles: number;
  /** What was asked about it and has no answer. */
  readonly requests: Set<Entry>;
  /** Set when it is over: makes the error that says how. */
  loss?: () => LockLostError;
}
