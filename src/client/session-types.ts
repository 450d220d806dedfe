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
import type { ConnectOptions } from "./connect.ts";
import type { LatchkeyError, LockLostError, LossReason } from "./errors.ts";
import type { AttemptLossReason, AttemptLostError } from "./idempotency-errors.ts";
import type { AcquireOptions, Mode } from "./locks.ts";
import type { WatchTold } from "./watches.ts";

/** What a session is to be like. */
export type SessionSettings = Pick<ConnectOptions, "space" | "grace" | "meta" | "user" | "requeue" | "reconnect">;

/** The ids of watches begin so, and no claim's does. */
export const WATCH_MARK = "~";

/** `connecting` until the first welcome, `connected`, `reconnecting` after a loss, `closed` for good. */
export type ConnectionStatus = "connecting" | "connected" | "reconnecting" | "closed";

/** What the machine wants done, in this order. `Call` is whatever the caller gave to recognise a call by. */
export type Output<Call> =
  /** Get a credential, open a socket, and say `opened` or `closed`. */
  | { readonly kind: "connect" }
  | { readonly kind: "send"; readonly text: string }
  /** Close the socket, or give up opening it. Nothing it says later counts. */
  | { readonly kind: "disconnect"; readonly code?: number }
  | { readonly kind: "granted"; readonly call: Call; readonly hold: Hold }
  | { readonly kind: "answered"; readonly call: Call; readonly frame: Answer }
  | { readonly kind: "failed"; readonly call: Call; readonly error: LatchkeyError }
  /** Everybody who works under this hold must stop. */
  | { readonly kind: "lost"; readonly hold: Hold; readonly error: LockLostError }
  | { readonly kind: "watched"; readonly told: WatchTold }
  | AdditionOutput
  | { readonly kind: "status"; readonly status: ConnectionStatus; readonly error?: LatchkeyError }
  /** Nobody asked, but somebody should know. */
  | { readonly kind: "trouble"; readonly error: LatchkeyError; readonly where: string };

/** What becomes of attempts. */
export type AdditionOutput =
  /** One that no call waits for: withdraw it, if it is not one that was started before. */
  | { readonly kind: "started_unasked"; readonly frame: StartedFrame }
  /** `id`: of its begin. */
  | { readonly kind: "attempt_lost"; readonly id: string; readonly error: AttemptLostError }
  | { readonly kind: "attempts_lost"; readonly reason: AttemptLossReason };

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

/** A lock as granted to this session, shared by nested acquires. */
export interface Hold {
  readonly key: string;
  readonly token: string;
  readonly fence: number;
  readonly mode: Mode;
  /** The lease as asked last, ms. */
  readonly ttl: number | undefined;
}

export type Wanted = Omit<AcquireOptions, "signal">;

/** What can be asked in a session. The table adds the id, and the timeout of an acquire. */
export type Ask = WithoutId<
  Extract<
    ClientFrame,
    { t: "acquire" | "extend" | "release" | "hand_to" | "request_access" | "status" | "list" | IdempotencyAsk }
  >
>;

type IdempotencyAsk = "begin" | "complete" | "fail" | "extend_attempt" | "forget";

type WithoutId<Frame> = Frame extends unknown ? Omit<Frame, "id"> : never;

/** How a wait ends that came to nothing: by which error, and by which frame it is taken back. */
export interface Wait {
  readonly over: "timeout" | "in_progress";
  readonly cancel: "cancel" | "cancel_begin";
}

/** A request without a final answer. */
export interface Entry<Call> {
  /** Absent: nobody waits for the answer. */
  readonly call: Call | undefined;
  readonly frame: Ask;
  /** An acquire's own timeout, as asked, ms. */
  readonly timeout: number | undefined;
  /** What may be waited for. */
  readonly wait: Wait | undefined;
  /** The caller is told then that it failed. Infinity: only the server's word or the loss of the hold ends it. */
  readonly giveUpAt: number;
  /** Nested acquire, extend, release: the hold it is about. It fails when that is lost. */
  readonly hold: Held<Call> | undefined;
  id: string;
  /** When it was sent in this session; undefined: it has to be sent. */
  sentAt?: number | undefined;
  /** The server said "later": it is sent again then. */
  resendAt?: number;
  /** Acquire: the server said that it waits, so its grant comes unasked. */
  queued?: boolean;
  /** Acquire that asks whoever holds the key for it: a claim that queues anew has not asked yet. */
  afterSend?: (() => unknown) | undefined;
  /** The frame as it was sent, which may be sent again to ask how a claim stands. */
  text?: string;
  /** Extend: the end of the lease before it was sent. */
  leaseBefore?: number;
}

/** A hold as the table keeps it. */
export interface Held<Call> extends Hold {
  /** Of its acquire. */
  readonly id: string;
  /** The session that it was granted to. A kept lock outlives it. */
  readonly session: string | undefined;
  readonly keep: boolean;
  ttl: number | undefined;
  leaseUntil: number;
  /** When the server was asked last how the claim stands. */
  askedAt: number;
  /** Handles that were not released, and nested acquires on their way. 0: its last release is on its way. */
  open: number;
  /** An extend or a release is on its way. Only one at a time: a repeat after a resume is recognised for the latest alone. */
  busy: boolean;
  readonly entries: Set<Entry<Call>>;
  /** How it ended. */
  loss?: LossReason | LockLostError;
}
