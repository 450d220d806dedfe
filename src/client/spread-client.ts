/**
 * One client over as many sessions as it takes. Most spaces are one session. Where the server spreads the keys of a space over
 * several parts it says so in its first welcome, and a key of another part gets a session there; see `parts.ts`.
 */

import type { Extended, ListFrame, Released, StatusFrame } from "../protocol/server-frames.ts";
import type { Addition, AdditionCalls, Asked } from "./addition.ts";
import { awakeClock, type Ports } from "./clock.ts";
import type { Client, ConnectOptions, StealOptions } from "./connect.ts";
import { asyncDispose } from "./dispose.ts";
import type { LatchkeyError } from "./errors.ts";
import type {
  AcquireOptions,
  Extension,
  KeyList,
  KeyStatus,
  ListOptions,
  Lock,
  LockSet,
  ReleaseResult,
} from "./locks.ts";
import type { Parts } from "./parts.ts";
import { SessionClient } from "./session-client.ts";
import type { Answer, ConnectionStatus } from "./session-types.ts";
import { extensionOf, keyListOf, keyStatusOf, releaseOf } from "./told.ts";
import { KeyWatch } from "./watch.ts";
import type { Watch, Watched, WatchOptions } from "./watch-types.ts";
import type { LatchLocks } from "./web-locks/types.ts";
import { tryAcquire, withLock } from "./with-lock.ts";

export class SpreadClient<Added extends AdditionCalls = AdditionCalls> implements Client {
  /** Loaded with its first use. Calls keep their order, since all of them wait for that. */
  readonly locks: LatchLocks = {
    request: async (...args: unknown[]) => (await this.#webLocks()).request(...(args as [never, never])),
    query: async () => (await this.#webLocks()).query(),
  } as LatchLocks;
  readonly #now: () => number;
  readonly #open: (part: number) => SessionClient<Added>;
  readonly #first: SessionClient<Added>;
  readonly #listeners: Set<() => void> = new Set();
  #parts: Parts<Added> | undefined;
  #loading: Promise<Parts<Added>> | undefined;
  #told: ConnectionStatus = "connecting";
  #closing: Promise<void> | undefined;

  constructor(url: string, options: ConnectOptions, ports: Ports, addition?: Addition<Added>) {
    const onStatus = (): void => {
      for (const tell of this.#listeners) tell();
      const status = this.connection;
      if (status === this.#told) return;
      this.#told = status;
      options.onStatus?.(status);
    };
    this.#open = (part) => new SessionClient(url, { ...options, onStatus }, ports, addition, part);
    this.#now = awakeClock(ports);
    this.#first = this.#open(0);
  }

  get ready(): Promise<void> {
    return this.#first.ready;
  }

  get connection(): ConnectionStatus {
    return (this.#parts ?? this.#first).connection;
  }

  get session(): string | undefined {
    return this.#first.session;
  }

  acquire(key: string, options?: AcquireOptions): Promise<Lock> {
    return this.at(key, (session) => session.acquire(key, options));
  }

  tryAcquire(key: string, options?: Omit<AcquireOptions, "timeout">): Promise<Lock | null> {
    return tryAcquire(this, key, options);
  }

  withLock<T>(
    keys: string | readonly string[],
    work: (held: Lock & LockSet) => T | PromiseLike<T>,
    options?: AcquireOptions,
  ): Promise<T> {
    return withLock(this, this.#now, keys, work, options);
  }

  async extend(key: string, token: string, ttl: number): Promise<Extension> {
    return extensionOf(await this.#ask<Extended>({ t: "extend", key, token, ttl }));
  }

  async release(key: string, token: string): Promise<ReleaseResult> {
    return releaseOf(await this.#ask<Released>({ t: "release", key, token }));
  }

  async status(key: string): Promise<KeyStatus> {
    const { t: _t, id: _id, ...told } = await this.#ask<StatusFrame>({ t: "status", key });
    return keyStatusOf(told);
  }

  async list(options: ListOptions = {}): Promise<KeyList> {
    const pageOf = async (session: SessionClient<Added>): Promise<KeyList> =>
      keyListOf(await session.request<ListFrame>({ t: "list", ...options }));
    const own = await pageOf(this.#first);
    return this.#first.spread > 1 ? (await this.#load()).list(pageOf, options.count) : own;
  }

  subscribe(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    return () => this.#listeners.delete(call);
  }

  watch(watched: Watched, { signal }: WatchOptions = {}): Watch {
    const watch = new KeyWatch(watched, signal);
    // Only then it is known whether the space is spread.
    this.ready.then(
      () => this.#tellOf(watch).catch((error: Error) => watch.close(error)),
      () => watch.close(),
    );
    return watch;
  }

  requestAccess(key: string, message?: string, { withdraw }: { readonly withdraw?: boolean } = {}): Promise<void> {
    return this.at(key, (session) => session.requestAccess(key, withdraw === true ? undefined : { message }));
  }

  steal(key: string, { reason, ...options }: StealOptions): Promise<Lock> {
    return this.acquire(key, { ...options, steal: true, message: reason });
  }

  close(): Promise<void> {
    this.#closing ??= (this.#parts ?? this.#first).close();
    return this.#closing;
  }

  [asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Before the first welcome nobody knows whether the space is spread: then the answer says where to ask. */
  at<T>(key: string, ask: (session: SessionClient<Added>) => Promise<T>): Promise<T> {
    const elsewhere = async (): Promise<T> => ask((await this.#load()).of(key));
    if (this.#first.spread > 1) return elsewhere();
    return ask(this.#first).catch((error: unknown) => {
      const isElsewhere = (error as LatchkeyError | undefined)?.code === "misdirected" && this.#first.spread > 1;
      if (isElsewhere) return elsewhere();
      throw error;
    });
  }

  #ask<Told extends Answer>(frame: Extract<Asked, { key: string }>): Promise<Told> {
    return this.at(frame.key, (session) => session.request(frame));
  }

  async #tellOf(watch: KeyWatch): Promise<void> {
    await watch.follow(this.#first.spread > 1 ? (await this.#load()).watchedBy(watch.what) : [this.#first]);
  }

  async #webLocks(): Promise<LatchLocks> {
    return (await import("./web-locks/web-locks.ts")).webLocks(this);
  }

  #load(): Promise<Parts<Added>> {
    this.#loading ??= import("./parts.ts").then(({ Parts }) => {
      const parts = new Parts(this.#first, this.#open);
      this.#parts = parts;
      if (this.#closing !== undefined) parts.close().catch(() => undefined);
      return parts;
    });
    return this.#loading;
  }
}
