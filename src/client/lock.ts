/** A granted lock in the caller's hand. */

import type { ContendedListener } from "./contention.ts";
import { asyncDispose } from "./dispose.ts";
import { type LatchkeyError, LockLostError } from "./errors.ts";
import type { Extension, Lock, Mode, OnError } from "./locks.ts";
import { onAbort } from "./signals.ts";
import type { KeyWatch } from "./watch.ts";

export type Granted = Pick<Lock, "key" | "mode" | "token" | "fence">;

/** How a grant stands, for all handles that were nested in it. */
export class Grant {
  /** Both are made when somebody asks for them: most locks are let go before anybody does. */
  #end: AbortController | undefined;
  #lost: Promise<LockLostError> | undefined;

  get signal(): AbortSignal {
    this.#end ??= new AbortController();
    return this.#end.signal;
  }

  get lost(): Promise<LockLostError> {
    const { signal } = this;
    this.#lost ??= new Promise((resolve) => {
      onAbort(signal, () => resolve(signal.reason as LockLostError));
    });
    return this.#lost;
  }

  lose(error: LockLostError): void {
    this.#end ??= new AbortController();
    this.#end.abort(error);
  }
}

/** What a handle needs from the client that granted it. */
export interface Grip {
  /** After a look at the clock: a lock whose time is over is lost before this returns. */
  readonly grant: Grant;
  extend(ttl: number | undefined): Promise<Extension>;
  /** Called once; once more after it rejected with something retryable. */
  release(): Promise<unknown>;
  /** When it rejects with anything but a loss, the lock is kept. */
  handTo(session: string): Promise<unknown>;
  /** Watches the key, until the signal aborts. */
  watch(signal: AbortSignal): KeyWatch;
  readonly onError: OnError;
}

export class LockHandle implements Lock {
  // Declared, since the constructor makes them: a page would load their names once more.
  declare readonly key: string;
  declare readonly mode: Mode;
  declare readonly token: string;
  declare readonly fence: number;
  readonly #grip: Grip;
  #released: Promise<void> | undefined;
  /** A hand-over on its way. */
  #handed: Promise<void> | undefined;
  /** Of the key, made when somebody asks for it. What others want is told as its events. */
  #watch: KeyWatch | undefined;

  constructor(granted: Granted, grip: Grip) {
    ({ key: this.key, mode: this.mode, token: this.token, fence: this.fence } = granted);
    this.#grip = grip;
  }

  get signal(): AbortSignal {
    // Code that wakes from a suspend may get here before any timer does.
    return this.#grip.grant.signal;
  }

  get lost(): Promise<LockLostError> {
    return this.#grip.grant.lost;
  }

  extend(ttl?: number): Promise<Extension> {
    return quiet(this.#released ? this.#over() : this.#grip.extend(ttl));
  }

  release(): Promise<void> {
    this.#released ??= quiet(this.#letGo());
    this.#watch?.close();
    return this.#released;
  }

  handTo(session: string): Promise<void> {
    const over = this.#released ?? this.#handed;
    if (over) return quiet(over.then(() => this.#over()));
    this.#handed = quiet(this.#handOver(session));
    return this.#handed;
  }

  addEventListener(type: "contended", listener: ContendedListener): void {
    this.#watch ??= this.#grip.watch(this.signal);
    if (this.#released) this.#watch.close();
    this.#watch.addEventListener(type, listener);
  }

  removeEventListener(type: "contended", listener: ContendedListener): void {
    this.#watch?.removeEventListener(type, listener);
  }

  /** Never throws: an error here would hide the one of the work. A loss has been told by `signal` already. */
  async [asyncDispose](): Promise<void> {
    try {
      await this.release();
    } catch (error) {
      if (!(error instanceof LockLostError)) this.#grip.onError(error, { where: "release" });
    }
  }

  /** A hand-over that is refused leaves the lock to be released. */
  async #letGo(): Promise<void> {
    try {
      await (this.#handed?.catch(() => this.#grip.release()) ?? this.#grip.release());
    } catch (error) {
      if ((error as Partial<LatchkeyError>).retryable) this.#released = undefined;
      throw error;
    }
  }

  async #handOver(session: string): Promise<void> {
    try {
      this.signal.throwIfAborted();
      await this.#grip.handTo(session);
      this.#released = this.#handed;
      this.#watch?.close();
    } catch (error) {
      this.#handed = undefined;
      throw error;
    }
  }

  async #over(): Promise<never> {
    throw new LockLostError(this.key, "released");
  }
}

/** The same promise; nobody needs to look at its rejection. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
