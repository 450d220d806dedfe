/**
 * One claim as a user interface has it: wanted by some of its parts, shown by others. It is asked for when the first part wants it
 * and let go when none does any more, a turn later, so that what is removed and put back at once keeps its place.
 */

import { asyncDispose } from "../client/dispose.ts";
import {
  type Client,
  type LatchkeyError,
  type Lock,
  type LockLostError,
  type Loss,
  type LossReason,
  type Mode,
  RefusedError,
  SessionClosedError,
  UnavailableError,
} from "../client/index.ts";
import type { Later } from "./later.ts";
import { freeView, type SharedWatch } from "./shared-watch.ts";
import { type ClaimSnapshot, type ClaimState, IDLE, settled } from "./snapshot.ts";

/** Parts that agree in these share a claim. */
export interface ClaimIdentity {
  readonly key: string;
  readonly mode?: Mode | undefined;
  readonly limit?: number | undefined;
}

/** How it is asked for: as the part says that wanted it last. */
export interface ClaimOptions {
  /** The lease, ms. Default: the session is the lease. */
  readonly ttl?: number | undefined;
  readonly meta?: unknown;
  /**
   * Queue again when the lock is lost with the connection or by its lease, or a wait with the page, which was left or frozen. Not
   * when somebody took it. Default false.
   */
  readonly requeue?: boolean | undefined;
}

/** Losses that are nobody's will. */
const ACCIDENTS: ReadonlySet<LossReason> = new Set(["dropped", "expired", "closed", "unknown"]);

/** What nobody looks at. */
const UNKNOWN = freeView("");

export class Claim {
  readonly #client: Client;
  readonly #identity: ClaimIdentity;
  readonly #watch: () => SharedWatch;
  readonly #later: Later;
  readonly #onIdle: () => void;
  readonly #listeners: Set<() => void> = new Set();
  readonly #wanters: Set<object> = new Set();
  /** Set while somebody listens. */
  #shown: SharedWatch | undefined;
  #stopListening: (() => void) | undefined;
  #cancelRelease: (() => void) | undefined;
  #options: ClaimOptions = {};
  #wait: AbortController | undefined;
  /** A steal on its way. */
  #stealing: Promise<void> | undefined;
  #lock: Lock | undefined;
  #signal: AbortSignal | undefined;
  #loss: Loss | undefined;
  #error: Error | undefined;
  #snapshot: ClaimSnapshot = IDLE;

  /** `watch` shows the key. `onIdle`: called when nobody shows it or wants it any more. */
  constructor(client: Client, identity: ClaimIdentity, watch: () => SharedWatch, later: Later, onIdle: () => void) {
    this.#client = client;
    this.#identity = identity;
    this.#watch = watch;
    this.#later = later;
    this.#onIdle = onIdle;
  }

  get key(): string {
    return this.#identity.key;
  }

  get snapshot(): ClaimSnapshot {
    return this.#snapshot;
  }

  /** Calls `listener` after every change of the snapshot. Returns what ends that. */
  subscribe(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    if (this.#stopListening === undefined) {
      const refresh = (): void => this.#refresh();
      this.#shown = this.#watch();
      const stops = [this.#shown.subscribe(refresh), this.#client.subscribe(refresh)];
      this.#stopListening = () => {
        for (const stop of stops) stop();
      };
      refresh();
    }
    return () => {
      this.#listeners.delete(call);
      if (this.#listeners.size > 0) return;
      this.#stopListening?.();
      this.#stopListening = undefined;
      this.#shown = undefined;
      this.#leaveIfIdle();
    };
  }

  want(who: object, options: ClaimOptions): void {
    this.#wants(who, options);
    if (this.#lock !== undefined || this.#wait !== undefined) return;
    this.#forget();
    this.#queue();
  }

  /** One part does not want it any more. */
  leave(who: object): void {
    if (!this.#wanters.delete(who) || this.#wanters.size > 0) return;
    this.#cancelRelease?.();
    this.#cancelRelease = this.#later(() => {
      this.#letGo().then(undefined, () => undefined);
    });
  }

  /** What is to be let go a turn later is let go now. */
  makeWay(): void {
    if (this.#cancelRelease !== undefined) this.#letGo().then(undefined, () => undefined);
  }

  /** Nobody wants it any more, now. Resolves when it is let go; never rejects. */
  release(): Promise<void> {
    this.#wanters.clear();
    return this.#letGo();
  }

  /** Its place in the queue is kept until the lock is there. Asked for twice at once it is one: else it would take the lock from itself. */
  async steal(who: object, options: ClaimOptions, reason: string): Promise<void> {
    if (this.#lock !== undefined) return;
    const hasWanted = this.#wanters.has(who);
    this.#wants(who, options);
    this.#stealing ??= this.#take(options, reason);
    this.#refresh();
    try {
      await this.#stealing;
    } catch (error) {
      if (!hasWanted && this.#wait === undefined) this.#wanters.delete(who);
      throw error;
    } finally {
      this.#leaveIfIdle();
    }
  }

  /** Queues first, if need be. */
  requestAccess(who: object, options: ClaimOptions, message?: string, withdraw: boolean = false): Promise<void> {
    if (!withdraw) this.want(who, options);
    return this.#client.requestAccess(this.#identity.key, message, { withdraw });
  }

  async handTo(session: string): Promise<void> {
    const lock = this.#lock;
    if (lock === undefined) throw new RefusedError("not_held", "the lock is not held here");
    await lock.handTo(session);
    if (this.#lock !== lock) return;
    this.#lock = undefined;
    await this.release();
  }

  async #take({ ttl, meta }: ClaimOptions, reason: string): Promise<void> {
    try {
      const lock = await this.#client.steal(this.#identity.key, { reason, ttl, meta });
      this.#wait?.abort();
      this.#hold(lock);
    } finally {
      this.#stealing = undefined;
      this.#refresh();
    }
  }

  #wants(who: object, options: ClaimOptions): void {
    this.#wanters.add(who);
    this.#options = options;
    this.#cancelRelease?.();
    this.#cancelRelease = undefined;
  }

  #queue(): void {
    const wait = new AbortController();
    this.#wait = wait;
    const { key, mode, limit } = this.#identity;
    const { ttl, meta } = this.#options;
    this.#client.acquire(key, { mode, limit, ttl, meta, signal: wait.signal }).then(
      (lock) => {
        if (this.#wait === wait) this.#hold(lock);
        else letGo(lock);
      },
      (error: Error) => {
        if (this.#wait === wait) this.#failed(error);
      },
    );
    this.#refresh();
  }

  #hold(lock: Lock): void {
    // First of all, since it looks at the clock, which may tell of more.
    const { signal } = lock;
    this.#wait = undefined;
    if (this.#wanters.size === 0 && this.#cancelRelease === undefined) return letGo(lock);
    this.#forget();
    this.#lock = lock;
    this.#signal = signal;
    if (signal.aborted) this.#lost(lock);
    else signal.addEventListener("abort", () => this.#lost(lock), { once: true });
    this.#refresh();
  }

  #lost(lock: Lock): void {
    if (this.#lock !== lock) return;
    // Not by way of the lock, which looks at the clock first: that may tell of more, and then this must be told as a loss already.
    const { reason, by } = (this.#signal as AbortSignal).reason as LockLostError;
    this.#lock = undefined;
    this.#loss = { reason, by };
    if (this.#requeues && ACCIDENTS.has(reason)) this.#queue();
    else this.#refresh();
  }

  #failed(error: Error): void {
    this.#wait = undefined;
    // The page was away for a while.
    if (this.#requeues && (error as LatchkeyError).code === "away") return this.#queue();
    this.#error = error;
    this.#refresh();
  }

  get #requeues(): boolean {
    return this.#options.requeue === true && this.#wanters.size > 0;
  }

  async #letGo(): Promise<void> {
    this.#cancelRelease?.();
    this.#cancelRelease = undefined;
    const lock = this.#lock;
    this.#wait?.abort();
    this.#wait = undefined;
    this.#lock = undefined;
    this.#forget();
    this.#refresh();
    this.#leaveIfIdle();
    await lock?.[asyncDispose]();
  }

  #forget(): void {
    this.#signal = undefined;
    this.#loss = undefined;
    this.#error = undefined;
  }

  #leaveIfIdle(): void {
    const isWanted = this.#wanters.size + this.#listeners.size > 0;
    if (!isWanted && this.#stealing === undefined && this.#cancelRelease === undefined) this.#onIdle();
  }

  #state(): ClaimState {
    if (this.#lock !== undefined) return "held";
    if (this.#wait !== undefined || this.#stealing !== undefined) {
      return this.#client.connection === "connected" ? "waiting" : "connecting";
    }
    if (this.#error !== undefined) return isOutage(this.#error) ? "unavailable" : "error";
    return this.#loss === undefined ? "idle" : "lost";
  }

  #refresh(): void {
    const state = this.#state();
    const { holders, waiting, position, asks, isCurrent } = this.#shown?.view ?? UNKNOWN;
    const before = this.#snapshot;
    this.#snapshot = settled(before, {
      state,
      position: state === "waiting" ? position : undefined,
      waiting,
      holders,
      isCurrent,
      fence: this.#lock?.fence,
      signal: this.#signal,
      lossReason: this.#loss?.reason,
      by: this.#loss?.by,
      asks: (state === "held" ? asks : undefined) ?? IDLE.asks,
      error: this.#error,
    });
    if (this.#snapshot === before) return;
    for (const tell of this.#listeners) tell();
  }
}

function isOutage(error: Error): boolean {
  return error instanceof SessionClosedError || error instanceof UnavailableError;
}

/** Nobody wants it any more. What goes wrong is told to the client's `onError`. */
function letGo(lock: Lock): void {
  lock[asyncDispose]().then(undefined, () => undefined);
}
