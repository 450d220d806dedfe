/** Records in a map, without leases and without waiting: what the middleware's own tests need, and levers for what goes wrong. */

import {
  AttemptLostError,
  type BeginOptions,
  type Begun,
  type IdempotencyCalls,
  IdempotencyInProgressError,
  IdempotencyMismatchError,
} from "../../../src/client/idempotency.ts";

interface Running {
  readonly attempt: string;
  readonly loss: AbortController;
}

interface Done {
  readonly attempt: string;
  readonly number: number;
  readonly result: Uint8Array;
  readonly contentType: string;
}

interface Record {
  readonly fingerprint: string;
  readonly options: BeginOptions;
  number: number;
  running: Running | undefined;
  done: Done | undefined;
}

type Verb = "begin" | "complete" | "fail";

export class CallsInMemory implements IdempotencyCalls {
  readonly records = new Map<string, Record>();
  /** Errors that the next calls reject with. */
  readonly trouble = new Map<Verb, Error>();
  readonly retryAfterMs = 1500;
  #attempts = 0;

  async begin(key: string, options: BeginOptions = {}): Promise<Begun> {
    this.#mayFail("begin");
    const { fingerprint = "" } = options;
    const record = this.records.get(key) ?? { fingerprint, options, number: 0, running: undefined, done: undefined };
    if (record.fingerprint !== fingerprint) throw new IdempotencyMismatchError(key);
    const { done } = record;
    if (done !== undefined) return { status: "replay", ...done };
    if (record.running !== undefined) throw new IdempotencyInProgressError(key, this.retryAfterMs);
    const running: Running = { attempt: `attempt-${++this.#attempts}`, loss: new AbortController() };
    record.running = running;
    record.number += 1;
    this.records.set(key, record);
    const { attempt, loss } = running;
    return { status: "started", attempt, number: record.number, lease: 30_000, expiresIn: 30_000, signal: loss.signal };
  }

  async complete(key: string, attempt: string, result: Uint8Array | string, contentType = ""): Promise<void> {
    this.#mayFail("complete");
    const record = this.#owned(key, attempt);
    record.running = undefined;
    const bytes = typeof result === "string" ? new TextEncoder().encode(result) : result.slice();
    record.done = { attempt, number: record.number, result: bytes, contentType };
  }

  async fail(key: string, attempt: string): Promise<void> {
    this.#mayFail("fail");
    this.#owned(key, attempt);
    this.records.delete(key);
  }

  async extend(key: string, attempt: string, lease: number): Promise<{ lease: number; expiresIn: number }> {
    this.#owned(key, attempt);
    return { lease, expiresIn: lease };
  }

  forget(key: string): Promise<boolean> {
    return Promise.resolve(this.records.delete(key));
  }

  /** The lease of the running attempt is over. */
  lose(key: string): void {
    const record = this.records.get(key);
    record?.running?.loss.abort(new AttemptLostError(key, "expired"));
    if (record !== undefined) record.running = undefined;
  }

  get onlyKey(): string {
    const [key, ...others] = this.records.keys();
    if (key === undefined || others.length > 0) throw new Error(`there are ${this.records.size} records`);
    return key;
  }

  #owned(key: string, attempt: string): Record {
    const record = this.records.get(key);
    if (record?.running?.attempt !== attempt) throw new AttemptLostError(key, "expired");
    return record;
  }

  #mayFail(verb: Verb): void {
    const error = this.trouble.get(verb);
    this.trouble.delete(verb);
    if (error !== undefined) throw error;
  }
}
