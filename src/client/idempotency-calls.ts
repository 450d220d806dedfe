/**
 * Work that runs once: what every client offers beside its locks, whatever it speaks. A key has one running attempt at most. What
 * it completes with is stored and given to everybody who begins the same key later. All durations are whole milliseconds.
 * All expected failures are a `LatchkeyError`.
 */

export interface BeginOptions {
  /**
   * What the key stands for, at most 4 096 UTF-8 bytes: the same key with another one is refused. Absent is empty, and empty
   * matches only empty. `fingerprintOf` makes one of any JSON value.
   */
  readonly fingerprint?: string | undefined;
  /** How long the record is kept, 1 s to 30 days. Default: the server's, a day. */
  readonly ttl?: number | undefined;
  /** How long the attempt may be silent, 100 ms to a day, default 30 s. Then the next one may start. */
  readonly lease?: number | undefined;
  /** How long to wait for an attempt that runs, at most a day. Default 0: rejects at once with `IdempotencyInProgressError`. */
  readonly timeout?: number | undefined;
  /** Extend the lease again and again, until the attempt is lost, or `complete` or `fail` is called, whatever comes of that. Default false. */
  readonly renew?: boolean | undefined;
  /** Ends the wait: rejects with the signal's reason. It means nothing any more once the attempt is started. */
  readonly signal?: AbortSignal | undefined;
}

/** Run the work now, then `complete` it or `fail` it. */
export interface Started {
  readonly status: "started";
  /** Whoever shows it owns the attempt: keep it secret. */
  readonly attempt: string;
  /** 1 for the first, rising with each one that was started after another was lost. */
  readonly number: number;
  /** The lease as asked, ms. */
  readonly lease: number;
  /** What was left of it when the server answered, ms. */
  readonly expiresIn: number;
  /**
   * Aborts, with an `AttemptLostError` as reason, when the attempt ends other than by its own complete or fail; before the
   * server can start the next one, as far as that can be known. Pass it to the work.
   */
  readonly signal: AbortSignal;
}

/** The work has been done before: this is its result, byte for byte. */
export interface Replay {
  readonly status: "replay";
  readonly result: Uint8Array;
  readonly contentType: string;
  /** Of the attempt that completed it. */
  readonly number: number;
}

export type Begun = Started | Replay;

export interface AttemptExtension {
  /** The lease as asked, ms. */
  readonly lease: number;
  /** What was left of it when the server answered, ms. */
  readonly expiresIn: number;
}

export interface IdempotencyCalls {
  /**
   * Starts an attempt, or gives the stored result. Rejects with `IdempotencyMismatchError` when the key has another fingerprint,
   * with `IdempotencyInProgressError` when another attempt runs and `timeout` is over, with `LimitError`, `RefusedError`,
   * `AccessDeniedError`, `SessionClosedError`; with `UnavailableError` when the server or its store cannot tell: do not run the work then.
   */
  begin(key: string, options?: BeginOptions): Promise<Begun>;

  /**
   * Stores the result, at most 1 MiB; a string as UTF-8. `contentType`: at most 255 characters, default `application/octet-stream`,
   * for a string `application/json`. Again with the same result is fine; with another one rejects with `RefusedError`
   * (`result_mismatch`). Rejects with `AttemptLostError` when the attempt is over: the result is not stored.
   */
  complete(key: string, attempt: string, result: Uint8Array | string, contentType?: string): Promise<void>;

  /** Ends the attempt without a result: the next begin may start another. Rejects with `AttemptLostError`. */
  fail(key: string, attempt: string): Promise<void>;

  /** Lease = now + `lease` ms. Rejects with `AttemptLostError` when the attempt is over: it is never revived. */
  extend(key: string, attempt: string, lease: number): Promise<AttemptExtension>;

  /**
   * Removes the record, with its result. By `attempt`: the one that runs, or that completed it; without: an operator. Resolves
   * with whether there was one. Rejects with `AttemptLostError` when the attempt is neither.
   */
  forget(key: string, attempt?: string): Promise<boolean>;
}

/** What the work gets. */
export interface Attempt {
  readonly attempt: string;
  readonly number: number;
  /** See `Started`. */
  readonly signal: AbortSignal;
}

export interface Idempotency {
  /** The plain calls. */
  readonly idempotency: IdempotencyCalls;

  /**
   * Runs `work` once for a key: its result is stored as JSON and every later call with the key resolves with it (so with what JSON
   * makes of it). The lease is extended while the work runs. Work that throws fails the attempt, so that the next call runs it
   * again, and its error comes through whatever happened to the attempt. Work that returns after the attempt was lost
   * rejects with `AttemptLostError`: its result is not stored. Otherwise rejects as `begin` does.
   */
  idempotent<T>(key: string, options: IdempotentOptions, work: (attempt: Attempt) => T | PromiseLike<T>): Promise<T>;
}

export type IdempotentOptions = Omit<BeginOptions, "renew">;
