/** A lock over HTTP: nobody pushes its end, so its lease is counted here, and extended here if that is wanted. */

import { CHECK_MS, NEVER, pause, type Ports } from "./clock.ts";
import { LockLostError, type LossReason, SessionClosedError } from "./errors.ts";
import { Grant, type Granted } from "./lock.ts";
import type { OnError } from "./locks.ts";

export interface HoldSettings {
  readonly lock: Granted;
  /** The lease as asked last, ms. Absent: the session of somebody else is the lease. */
  readonly ttl: number | undefined;
  readonly leaseUntil: number;
  readonly ports: Ports;
  readonly now: () => number;
  readonly onError: OnError;
  readonly onEnd: (hold: HttpHold) => void;
}

export class HttpHold {
  readonly lock: Granted;
  readonly grant: Grant = new Grant();
  ttl: number | undefined;
  /** Handles that were not released, and nested acquires on their way. */
  open = 1;
  error: LockLostError | undefined;
  readonly #settings: HoldSettings;
  #leaseUntil: number;
  #cancelTimer: (() => void) | undefined;
  #renewer: AbortController | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(settings: HoldSettings) {
    this.lock = settings.lock;
    this.ttl = settings.ttl;
    this.#settings = settings;
    this.#leaseUntil = settings.leaseUntil;
    this.check();
  }

  get leaseUntil(): number {
    return this.#leaseUntil;
  }

  /** Ends the hold when its lease is over, else looks again later. */
  check(): void {
    this.#cancelTimer?.();
    if (this.error !== undefined || this.open === 0 || this.#leaseUntil === NEVER) return;
    const leftMs = this.#leaseUntil - this.#settings.now();
    if (leftMs <= 0) this.end("expired");
    else {
      const waitMs = Math.ceil(Math.min(leftMs, CHECK_MS));
      this.#cancelTimer = this.#settings.ports.timer(waitMs, () => this.check(), true);
    }
  }

  setLease(until: number, ttl: number | undefined): void {
    this.#leaseUntil = until;
    this.ttl = ttl ?? this.ttl;
    this.check();
  }

  /** It is over, one way or another. Handles that were not released are told. */
  end(cause: LossReason | LockLostError): void {
    if (this.error !== undefined) return;
    this.error = typeof cause === "string" ? new LockLostError(this.lock.key, cause) : cause;
    this.#stop();
    this.#settings.onEnd(this);
    if (this.open > 0) this.grant.lose(this.error);
  }

  /** One handle is let go. With the last one nothing is counted or renewed any more, so that neither can report a false loss. */
  leave(): void {
    this.open -= 1;
    if (this.open === 0) this.#stop();
  }

  /** Runs `act` after the acts before it: the server recognises a repeated release only if it is the latest. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(act);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** Extends again and again while it is held. */
  renew(extend: (signal: AbortSignal) => Promise<unknown>): void {
    if (this.#renewer !== undefined || this.ttl === undefined) return;
    this.#renewer = new AbortController();
    this.#renewWith(extend, this.#renewer.signal).catch(() => undefined);
  }

  /** Ends by rejecting, when the signal aborts or nobody will answer any more. */
  async #renewWith(extend: (signal: AbortSignal) => Promise<unknown>, signal: AbortSignal): Promise<never> {
    for (;;) {
      await pause(this.#settings.ports, (this.ttl ?? 0) / 3, signal);
      try {
        await extend(signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof SessionClosedError) throw error;
        this.#settings.onError(error, { where: "renew" });
      }
    }
  }

  #stop(): void {
    this.#cancelTimer?.();
    this.#renewer?.abort();
  }
}
