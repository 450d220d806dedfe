/**
 * What can go wrong, one class for each decision that a caller takes; `code` tells the cases of a class apart.
 * No message ever shows a token, a resume secret or an API key.
 */

/** Why a lock ended without its own release. */
export type LossReason =
  /** Its lease ran out. */
  | "expired"
  /** Somebody took it. */
  | "stolen"
  /** The connection of its session was lost, or was silent for too long. */
  | "dropped"
  /** An operator ended it. */
  | "revoked"
  /** Somebody who knows its token let it go. */
  | "released"
  /** Its acquire was withdrawn. */
  | "cancelled"
  /** This client was closed. */
  | "closed"
  /** So long ago that the server has forgotten, or the token never held. */
  | "unknown";

/** Who ended somebody else's lock, as far as the server says. */
export interface By {
  readonly session?: string;
  readonly meta?: unknown;
  readonly message?: string;
}

export interface Loss {
  readonly reason: LossReason;
  readonly by?: By | undefined;
}

interface Details {
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/** With members of the class besides, which become the error's own. */
type Members = Details & Readonly<Record<string, unknown>>;

/** The base of all errors of this package. */
export class LatchkeyError extends Error {
  override readonly name: string = "LatchkeyError";
  /** Stable, for programs; the message is for people. */
  declare readonly code: string;
  /** Whether the same call may succeed later, unchanged. */
  readonly retryable: boolean = false;

  constructor(code: string, message: string, members: Members = {}) {
    super(message, members);
    this.code = code;
    // A cause is there already, and stays what it is: a property that is not shown.
    Object.assign(this, members);
  }
}

/** The lock was not free within `timeout`, and never held. */
export class LockTimeoutError extends LatchkeyError {
  override readonly name = "LockTimeoutError";
  override readonly retryable = true;
  declare readonly key: string;

  constructor(key: string, details: Details = {}) {
    super("timeout", `lock ${show(key)} not granted in time`, { ...details, key });
  }
}

/** The lock was held and ended. Whatever it protects must no longer be touched. */
export class LockLostError extends LatchkeyError implements Loss {
  override readonly name = "LockLostError";
  declare readonly key: string;
  declare readonly reason: LossReason;
  declare readonly by: By | undefined;

  constructor(key: string, reason: LossReason, by?: By) {
    super("lost", `lock ${show(key)} is lost: ${reason}`, { key, reason, by });
  }
}

/** The client is closed for good: by `close`, or by a server that must not be asked again. */
export class SessionClosedError extends LatchkeyError {
  override readonly name = "SessionClosedError";
  /** The WebSocket close code that said so; absent when this side closed. */
  declare readonly closeCode: number | undefined;

  constructor(closeCode?: number, detail: string = "closed") {
    super("session_closed", detail, { closeCode });
  }
}

/** A limit of the server is reached. */
export class LimitError extends LatchkeyError {
  override readonly name = "LimitError";
  override readonly retryable = true;
  /** Which one. */
  declare readonly limit: string;
  declare readonly retryAfterMs: number | undefined;
}

/** There was no answer, or the server cannot serve now. Whether the request took effect is not known. */
export class UnavailableError extends LatchkeyError {
  override readonly name = "UnavailableError";
  override readonly retryable = true;
  declare readonly retryAfterMs: number | undefined;
}

/** The credential is missing, wrong (`unauthenticated`) or not permitted to do this (`forbidden`). */
export class AccessDeniedError extends LatchkeyError {
  override readonly name = "AccessDeniedError";
}

/** The request itself does not fit: see `code`, for example `bad_request`, `limit_mismatch`, `depth_limit`. */
export class RefusedError extends LatchkeyError {
  override readonly name = "RefusedError";
}

/** What a `refused` frame and an HTTP problem have in common. */
export interface Refusal {
  readonly code: string;
  readonly detail?: string;
  readonly retryable?: boolean;
  readonly limit?: string;
  readonly reason?: string;
  readonly retry_after_ms?: number;
}

export type ErrorOf = (refusal: Refusal, key?: string) => LatchkeyError;

/** Which class says what a code does. All others are refusals. */
const CLASSES: ReadonlyMap<string, typeof LatchkeyError> = new Map<string, typeof LatchkeyError>([
  ["limit", LimitError],
  ["unauthenticated", AccessDeniedError],
  ["forbidden", AccessDeniedError],
  ["internal", UnavailableError],
  ["unavailable", UnavailableError],
  ["draining", UnavailableError],
  // Somebody else ended the wait.
  ["cancelled", UnavailableError],
  ["revoked", UnavailableError],
]);

export const errorOf: ErrorOf = (refusal, key = "") => {
  const { code, detail = code, retryable = false, limit, reason = "unknown", retry_after_ms: retryAfterMs } = refusal;
  if (code === "timeout") return new LockTimeoutError(key);
  if (code === "lost" || code === "unknown_token") return new LockLostError(key, reason as LossReason);
  return new (CLASSES.get(code) ?? RefusedError)(code, detail, { retryable, limit, retryAfterMs });
};

export function show(key: string): string {
  return JSON.stringify(key);
}
