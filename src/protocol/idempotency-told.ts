/** The frames that a server sends about idempotent work, as types alone. */

/** Run the work. */
export interface StartedFrame {
  readonly t: "started";
  readonly id: string;
  readonly key: string;
  /** Secret: whoever shows it owns the attempt. */
  readonly attempt: string;
  readonly number: number;
  readonly lease: number;
  readonly expires_in: number;
}

/** The work has been done. */
export interface ReplayFrame {
  readonly t: "replay";
  readonly id: string;
  readonly key: string;
  readonly number: number;
  /** Text, or with `encoding` bytes. */
  readonly result: string;
  readonly encoding?: "base64";
  readonly type: string;
}

/** Another attempt runs, and the wait is over. */
export interface InProgressFrame {
  readonly t: "in_progress";
  readonly id: string;
  readonly key: string;
  /** What is left of that attempt's lease. */
  readonly retry_after_ms: number;
}

export interface AttemptQueuedFrame {
  readonly t: "attempt_queued";
  readonly id: string;
  /** 1 = next. */
  readonly position: number;
}

export interface CompletedFrame {
  readonly t: "completed";
  readonly id: string;
  readonly already?: true;
}

export interface FailedFrame {
  readonly t: "failed";
  readonly id: string;
}

export interface AttemptExtendedFrame {
  readonly t: "attempt_extended";
  readonly id: string;
  readonly key: string;
  readonly lease: number;
  readonly expires_in: number;
}

export interface ForgottenFrame {
  readonly t: "forgotten";
  readonly id: string;
  /** Whether there was a record. */
  readonly existed: boolean;
}

/** Pushed with the id of a begin when its attempt ends other than by itself; and the answer to whatever showed an attempt that is over. */
export interface AttemptLostFrame {
  readonly t: "attempt_lost";
  readonly id: string;
  readonly key: string;
  readonly reason: string;
}

export type IdempotencyTold =
  | StartedFrame
  | ReplayFrame
  | InProgressFrame
  | AttemptQueuedFrame
  | CompletedFrame
  | FailedFrame
  | AttemptExtendedFrame
  | ForgottenFrame
  | AttemptLostFrame;
