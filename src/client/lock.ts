/** A granted lock in the caller's hand. */

import type { ContendedListener } from "./contention.ts";
import { asyncDispose } from "./dispose.ts";
import { LockLostError, type Loss } from "./errors.ts";
import type { Extension, Lock, Mode, OnError } from "./locks.ts";
import type { Watch } from "./watch-types.ts";

/** One grant, shared by all handles that were nested in it. */
export class Grant {
  readonly key: string;
  readonly mode: Mode;
  readonly token: string;
  readonly fence: number;
  #error: LockLostError | undefined;
  /** Both are made when somebody asks for them: most locks are let go before anybody does. */
  #controller: AbortController | undefined;
  #lost: Promise<Loss> | undefined;
  #tell: ((loss: Loss) => void) | undefined;

  constructor({ key, mode, token, fence }: Pick<Lock, "key" | "mode" | "token" | "fence">) {
    this.key = key;
    this.mode = mode;
    this.token = token;
    this.fence = fence;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#error !== undefined) this.#controller.abort(this.#error);
    }
    return this.#controller.signal;
  }

  get lost(): Promise<Loss> {
    this.#lost ??= new Promise((resolve) => {
      this.#tell = resolve;
      if (this.#error !== undefined) resolve(lossIn(this.#error));
    });
    return this.#lost;
  }

  lose(error: LockLostError): void {
    this.#error ??= error;
    this.#tell?.(lossIn(this.#error));
    this.#controller?.abort(this.#error);
  }
}

/** What a handle needs from the client that granted it. */
export interface Grip {
  /** Looks at the clock: a lock whose time is over is lost before this returns. */
  check(): void;
  extend(ttl: number | undefined): Promise<Extension>;
  /** Called once; once more after it rejected with something retryable. */
  release(): Promise<void>;
  /** When it rejects with anything but a loss, the lock is kept. */
  handTo(session: string): Promise<void>;
  /** Watches the key, until the signal aborts. */
  watch(signal: AbortSignal): Watch;
  readonly onError: OnError;
}

export class LockHandle implements Lock {
  readonly key: string;
  readonly mode: Mode;
  readonly token: string;
  readonly fence: number;
  readonly #grant: Grant;
  readonly #grip: Grip;
  #released: Promise<void> | undefined;
  /** A hand-over on its way. */
  #handed: Promise<void> | undefined;
  #watch: Watch | undefined;
  #contended: EventTarget | undefined;

  constructor(grant: Grant, grip: Grip) {
    this.key = grant.key;
    this.mode = grant.mode;
    this.token = grant.token;
    this.fence = grant.fence;
    this.#grant = grant;
    this.#grip = grip;
  }

  get signal(): AbortSignal {
    // Code that wakes from a suspend may get here before any timer does.
    this.#grip.check();
    return this.#grant.signal;
  }

  get lost(): Promise<Loss> {
    return this.#grant.lost;
  }

  extend(ttl?: number): Promise<Extension> {
    return quiet(
      this.#released === undefined ? this.#grip.extend(ttl) : Promise.reject(new LockLostError(this.key, "released")),
    );
  }

  release(): Promise<void> {
    this.#released ??= quiet(
      this.#letGo().catch((error: unknown) => {
        if (isRetryable(error)) this.#released = undefined;
        throw error;
      }),
    );
    this.#watch?.close();
    return this.#released;
  }

  handTo(session: string): Promise<void> {
    const over = this.#released ?? this.#handed;
    if (over !== undefined) return quiet(over.then(() => Promise.reject(new LockLostError(this.key, "released"))));
    if (this.signal.aborted) return quiet(Promise.reject(this.signal.reason as Error));
    const handed = this.#grip.handTo(session).then(
      () => {
        this.#released = handed;
        this.#watch?.close();
      },
      (error: unknown) => {
        this.#handed = undefined;
        throw error;
      },
    );
    this.#handed = handed;
    return quiet(handed);
  }

  addEventListener(type: "contended", listener: ContendedListener): void {
    this.#contended ??= this.#contention();
    this.#contended.addEventListener(type, listener as EventListener);
  }

  removeEventListener(type: "contended", listener: ContendedListener): void {
    this.#contended?.removeEventListener(type, listener as EventListener);
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
  #letGo(): Promise<void> {
    return this.#handed?.catch(() => this.#grip.release()) ?? this.#grip.release();
  }

  #contention(): EventTarget {
    const watch = this.#grip.watch(this.#released === undefined ? this.signal : AbortSignal.abort());
    const target = new EventTarget();
    this.#watch = watch;
    import("./contention.ts").then(
      ({ tellOf }) => tellOf(watch, target),
      (error: unknown) => this.#grip.onError(error, { where: "watch" }),
    );
    return target;
  }
}

function lossIn({ reason, by }: LockLostError): Loss {
  return { reason, by };
}

/** The same promise; nobody needs to look at its rejection. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function isRetryable(error: unknown): boolean {
  return (error as { retryable?: unknown } | undefined)?.retryable === true;
}
