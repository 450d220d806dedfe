/**
 * What can be asked of an engine. Commands are plain, immutable objects: a log of them, with the time
 * of each, replays a space exactly. The engine keeps no clock and mints nothing, so tokens, secrets and
 * ids arrive inside the command. Shapes are checked before (ranges, sizes); the engine trusts them.
 */

import type { IdempotencyCommand } from "./idempotency/command.ts";

export type Mode = "exclusive" | "shared";

/**
 * Every command that gets an answer says who asks and under which request id.
 * `from` is a session's id, or for a caller without a session the scope in which its request ids are
 * unique. The host keeps the two apart (scopes start with `@`).
 */
interface Asked {
  readonly from: string;
  readonly request: string;
}

/** Begin a session. Answer: `opened`, or `refused` with `limit`. A known id is a bug of the host. */
export interface Open {
  readonly kind: "open";
  readonly session: string;
  readonly secret: string;
  /** How long the session may be without a connection before it ends, ms; 0 ends it at once. */
  readonly graceMs: number;
  /** JSON text that others may see beside what the session holds. */
  readonly meta?: string;
  /** Who is behind the session: public. Several sessions may have the same. */
  readonly user?: string;
}

/**
 * A new connection takes a session over, whether suspended or still connected.
 * Answer: `resumed` with a snapshot, or `refused` with `session_ended` (unknown, ended, or a wrong secret).
 */
export interface Resume {
  readonly kind: "resume";
  readonly session: string;
  readonly secret: string;
}

/** The connection is lost. With a grace the session is suspended, else it ends, both in this step. */
export interface Drop {
  readonly kind: "drop";
  readonly session: string;
}

/** The session says good-bye: it ends at once, whatever its grace. Waiting claims are cancelled, holdings released. */
export interface Bye {
  readonly kind: "bye";
  readonly session: string;
}

/**
 * Ask for a key. Answers: `granted`, or `queued` and later `granted`, or `ended` (`timed_out`, `cancelled`, …),
 * or `lost` (re-entry with a token that no longer holds), or `refused`.
 */
export interface Acquire extends Asked {
  readonly kind: "acquire";
  /** Whether `from` is a session: the claim then ends with it. */
  readonly session: boolean;
  readonly key: string;
  readonly mode: Mode;
  /** `shared` only: at most this many holders together. */
  readonly limit?: number;
  /** How long the claim may wait, ms; 0 = only if free now; absent = as long as its session lives. */
  readonly timeoutMs?: number;
  /** Lease from the grant on, ms. Absent only for sessions: then the session is the lease. */
  readonly ttlMs?: number;
  /** Re-entry: the token of the claim that holds this key. */
  readonly token?: string;
  /** With `token`: count this acquire, so that one more release is needed. */
  readonly nest?: boolean;
  /** Take the key from its holders. `exclusive` only. */
  readonly steal?: boolean;
  /** A session's claim with a ttl that outlives the session once it is granted. */
  readonly keep?: boolean;
  /** JSON text that others may see. */
  readonly meta?: string;
  /** With `steal`: told to those who lose the key. */
  readonly message?: string;
  /** The token of this claim, should it be granted. */
  readonly newToken: string;
}

/**
 * Withdraw the acquire of this `from` and `request`. A waiting claim leaves the queue, a holding one is
 * released (the cancel crossed the grant). Unknown or gone: nothing happens.
 */
export interface Cancel extends Asked {
  readonly kind: "cancel";
  /** Also forget the request id: nobody received the answer, so a repeat is a fresh claim. */
  readonly forget?: boolean;
}

/** Lease = now + ttl. Answers: `extended`, `lost`, `refused` with `unknown_token`. */
export interface Extend extends Asked {
  readonly kind: "extend";
  readonly key: string;
  readonly token: string;
  readonly ttlMs: number;
}

/** Answers: `released` (with the depth that is left), `lost`, `refused` with `unknown_token`. */
export interface Release extends Asked {
  readonly kind: "release";
  readonly key: string;
  readonly token: string;
}

/**
 * The holder lets go, whatever the depth, and names its successor: the first claim of that session that waits for the key is granted
 * in the same step, past the queue. Answers: `released` (depth 0), `lost`, `refused` with `unknown_token`, `not_waiting`, `shared_holders`.
 */
export interface Hand extends Asked {
  readonly kind: "hand";
  readonly key: string;
  readonly token: string;
  /** The id of a session. */
  readonly to: string;
}

/**
 * Asks whoever holds the key for it, or no longer does: the ask stands on a claim that waits, and is gone when that leaves its queue.
 * Answers: `asked`, `refused` with `not_waiting`.
 */
export interface Ask extends Asked {
  readonly kind: "ask";
  /** The request id of the acquire, by the same `from`. */
  readonly claim: string;
  /** Shown to who holds the key. */
  readonly message?: string;
  readonly withdraw?: boolean;
}

/** An operator ends the holders of a key. Answer: `revoked`. */
export interface RevokeKey extends Asked {
  readonly kind: "revoke_key";
  readonly key: string;
  readonly message?: string;
}

/** An operator ends a session with all its claims, kept ones too. Answer: `revoked`. */
export interface RevokeSession extends Asked {
  readonly kind: "revoke_session";
  readonly session: string;
  readonly message?: string;
}

/** Who holds a key and how many wait. Answer: `status`. */
export interface Status extends Asked {
  readonly kind: "status";
  readonly key: string;
  /** Ids of sessions: the answer has the places of those that wait. */
  readonly of?: readonly string[];
}

/** The live keys that start with `prefix`, in code unit order, after `after`. Answer: `list`. */
export interface List extends Asked {
  readonly kind: "list";
  readonly prefix: string;
  readonly after?: string;
  readonly countMax: number;
  /** Tell of each key who waits. */
  readonly queue?: boolean;
  /** As in `Status`. */
  readonly of?: readonly string[];
}

/** Only time passes. */
export interface Tick {
  readonly kind: "tick";
}

export type LockCommand =
  | Open
  | Resume
  | Drop
  | Bye
  | Acquire
  | Cancel
  | Extend
  | Release
  | Hand
  | Ask
  | RevokeKey
  | RevokeSession
  | Status
  | List
  | Tick;

export type Command = LockCommand | IdempotencyCommand;
