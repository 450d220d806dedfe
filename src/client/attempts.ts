/**
 * The attempts that a client runs: until when it may believe in each, and how the work is told to stop. An attempt ends here before
 * the server can start the next one, by the same reasoning as a lock's lease; see `lease.ts`.
 */

import { CHECK_MS, pause, type Ports } from "./clock.ts";
import { LatchkeyError, SessionClosedError } from "./errors.ts";
import type { AttemptExtension, Started } from "./idempotency-calls.ts";
import { type AttemptLossReason, AttemptLostError } from "./idempotency-errors.ts";
import { leaseUntil } from "./lease.ts";
import type { OnError } from "./locks.ts";

export interface AttemptsSettings {
  readonly ports: Ports;
  readonly now: () => number;
  readonly onError: OnError;
  /** The time is looked at: whatever else may end attempts should look as well. */
  readonly onLook?: () => void;
  /** Asks the server. `signal` ends the asking. */
  readonly extend: (key: string, attempt: string, lease: number, signal?: AbortSignal) => Promise<AttemptExtension>;
}

export interface StartTold {
  readonly key: string;
  readonly attempt: string;
  readonly number: number;
  readonly lease: number;
  readonly expiresIn: number;
  /** In the client's time: when it is over for the client. */
  readonly until: number;
  /** The id under which the server tells of its end, where it does. */
  readonly id?: string;
}

export class Attempts {
  readonly #settings: AttemptsSettings;
  /** By token. An attempt leaves when it is over, or when its end is on its way. */
  readonly #live: Map<string, Live> = new Map();

  constructor(settings: AttemptsSettings) {
    this.#settings = settings;
  }

  has(attempt: string): boolean {
    return this.#live.has(attempt);
  }

  started(told: StartTold, renew: boolean): Started {
    const live = new Live(told, this.#settings, () => this.#live.delete(told.attempt));
    this.#live.set(told.attempt, live);
    live.check();
    if (renew) live.renew((signal) => this.extend(told.key, told.attempt, live.lease, signal));
    const { attempt, number, lease, expiresIn } = told;
    return {
      status: "started",
      attempt,
      number,
      lease,
      expiresIn,
      get signal() {
        // Code that wakes from a suspend may get here before any timer does.
        live.look();
        return live.signal;
      },
    };
  }

  async extend(key: string, attempt: string, lease: number, signal?: AbortSignal): Promise<AttemptExtension> {
    const { now } = this.#settings;
    const live = this.#live.get(attempt);
    const before = live?.until ?? 0;
    const askedAt = now();
    // It may shorten the lease, as soon as it arrives.
    live?.setLease(Math.min(before, leaseUntil(askedAt, lease)));
    try {
      const extension = await this.#settings.extend(key, attempt, lease, signal);
      live?.setLease(leaseUntil(askedAt, extension.expiresIn), lease);
      return extension;
    } catch (error) {
      if (error instanceof AttemptLostError) live?.lose(error);
      else if (error instanceof LatchkeyError && !error.retryable) live?.setLease(before);
      throw error;
    }
  }

  /**
   * Runs what ends an attempt. Nothing is counted or extended meanwhile, so that neither can report a false loss. When it comes
   * to nothing for another reason than a loss the attempt goes on, but is extended by itself no more: its work is done, and if
   * its end is never told the lease must end it.
   */
  async ending<T>(attempt: string, end: () => Promise<T>): Promise<T> {
    const live = this.#live.get(attempt);
    live?.rest();
    try {
      const result = await end();
      this.#live.delete(attempt);
      return result;
    } catch (error) {
      if (error instanceof AttemptLostError) live?.lose(error);
      else live?.goOn();
      throw error;
    }
  }

  /** The server has said so, under the id of the begin. */
  lose(id: string, error: AttemptLostError): void {
    for (const live of this.#live.values()) if (live.told.id === id) live.lose(error);
  }

  loseAll(reason: AttemptLossReason): void {
    for (const live of this.#live.values()) live.lose(new AttemptLostError(live.told.key, reason));
  }
}

type Extend = (signal: AbortSignal) => Promise<unknown>;

class Live {
  readonly told: StartTold;
  until: number;
  /** As asked last, ms. */
  lease: number;
  readonly #settings: AttemptsSettings;
  readonly #onEnd: () => void;
  readonly #controller = new AbortController();
  #isResting = false;
  #cancelTimer: (() => void) | undefined;
  #renewer: AbortController | undefined;

  constructor(told: StartTold, settings: AttemptsSettings, onEnd: () => void) {
    this.told = told;
    this.until = told.until;
    this.lease = told.lease;
    this.#settings = settings;
    this.#onEnd = onEnd;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the attempt when its lease is over, else looks again later. */
  check(): void {
    this.#cancelTimer?.();
    if (this.#isResting || this.signal.aborted) return;
    const leftMs = this.until - this.#settings.now();
    if (leftMs <= 0) this.lose(new AttemptLostError(this.told.key, "expired"));
    else {
      const waitMs = Math.ceil(Math.min(leftMs, CHECK_MS));
      this.#cancelTimer = this.#settings.ports.timer(waitMs, () => this.look(), true);
    }
  }

  look(): void {
    this.#settings.onLook?.();
    this.check();
  }

  setLease(until: number, lease?: number): void {
    this.until = until;
    this.lease = lease ?? this.lease;
    this.check();
  }

  lose(error: AttemptLostError): void {
    this.rest();
    this.#onEnd();
    this.#controller.abort(error);
  }

  rest(): void {
    this.#isResting = true;
    this.#cancelTimer?.();
    this.#renewer?.abort();
    this.#renewer = undefined;
  }

  goOn(): void {
    if (this.signal.aborted) return;
    this.#isResting = false;
    this.check();
  }

  /** Extends again and again until it rests. */
  renew(extend: Extend): void {
    this.#renewer = new AbortController();
    this.#renewWith(extend, this.#renewer.signal).catch(() => undefined);
  }

  /** Ends by rejecting, when the signal aborts or nobody will answer any more. */
  async #renewWith(extend: Extend, signal: AbortSignal): Promise<never> {
    for (;;) {
      await pause(this.#settings.ports, this.lease / 3, signal);
      try {
        await extend(signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof SessionClosedError) throw error;
        this.#settings.onError(error, { where: "renew" });
      }
    }
  }
}
