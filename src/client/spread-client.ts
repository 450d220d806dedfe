/**
 * One client over as many sessions as it takes. Most spaces are one session. Where the server spreads the keys of a space over
 * several parts it says so in its first welcome, and a key of another part gets a session there, opened when it is
 * asked for first.
 */

import { partOf } from "../protocol/spread.ts";
import { awakeClock, type Ports } from "./clock.ts";
import type { Client, ConnectOptions, StealOptions } from "./connect.ts";
import { asyncDispose } from "./dispose.ts";
import { LatchkeyError } from "./errors.ts";
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
import type { Attempt, IdempotencyCalls, IdempotentOptions } from "./idempotency-calls.ts";
import { idempotent } from "./idempotent.ts";
import { reporter } from "./report.ts";
import { SessionClient } from "./session-client.ts";
import type { ConnectionStatus } from "./session-types.ts";
import { KeyWatch } from "./watch.ts";
import type { Watch, Watched, WatchOptions } from "./watch-types.ts";
import { tryAcquire, withLock } from "./with-lock.ts";

const LIST_COUNT_DEFAULT = 100;
/** From the best to the worst: the client is as well off as its worst session. */
const STATUSES: readonly ConnectionStatus[] = ["connected", "connecting", "reconnecting", "closed"];

export class SpreadClient implements Client {
  readonly ready: Promise<void>;
  readonly idempotency: IdempotencyCalls = {
    begin: (key, options) => this.#for(key, ({ idempotency }) => idempotency.begin(key, options)),
    complete: (key, attempt, result, contentType) =>
      this.#for(key, ({ idempotency }) => idempotency.complete(key, attempt, result, contentType)),
    fail: (key, attempt) => this.#for(key, ({ idempotency }) => idempotency.fail(key, attempt)),
    extend: (key, attempt, lease) => this.#for(key, ({ idempotency }) => idempotency.extend(key, attempt, lease)),
    forget: (key, attempt) => this.#for(key, ({ idempotency }) => idempotency.forget(key, attempt)),
  };
  readonly #url: string;
  readonly #options: ConnectOptions;
  readonly #ports: Ports;
  readonly #now: () => number;
  readonly #sessions: Map<number, SessionClient> = new Map();
  readonly #first: SessionClient;
  readonly #listeners = new Set<() => void>();
  #told: ConnectionStatus = "connecting";
  #closing: Promise<void> | undefined;

  constructor(url: string, options: ConnectOptions, ports: Ports) {
    this.#url = url;
    this.#options = options;
    this.#ports = ports;
    this.#now = awakeClock(ports);
    this.#first = this.#session(0);
    this.ready = this.#first.ready;
  }

  get connection(): ConnectionStatus {
    const worst = Math.max(0, ...[...this.#sessions.values()].map(({ connection }) => STATUSES.indexOf(connection)));
    return STATUSES[worst] ?? "closed";
  }

  get session(): string | undefined {
    return this.#first.session;
  }

  acquire(key: string, options?: AcquireOptions): Promise<Lock> {
    return this.#for(key, (session) => session.acquire(key, options));
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

  extend(key: string, token: string, ttl: number): Promise<Extension> {
    return this.#for(key, (session) => session.extend(key, token, ttl));
  }

  release(key: string, token: string): Promise<ReleaseResult> {
    return this.#for(key, (session) => session.release(key, token));
  }

  idempotent<T>(key: string, options: IdempotentOptions, work: (attempt: Attempt) => T | PromiseLike<T>): Promise<T> {
    return idempotent(this.idempotency, reporter(this.#options.onError), key, options, work);
  }

  status(key: string): Promise<KeyStatus> {
    return this.#for(key, (session) => session.status(key));
  }

  /** The pages of all parts make one: the first of all of them are the first of the space. */
  async list(options: ListOptions = {}): Promise<KeyList> {
    const own = await this.#first.list(options);
    const { spread } = this.#first;
    if (spread === 1) return own;
    const others = Array.from({ length: spread - 1 }, (_, i) => this.#session(i + 1).list(options));
    const pages = [own, ...(await Promise.all(others))];
    const all = pages.flatMap(({ keys }) => keys).sort((a, b) => (a.key < b.key ? -1 : 1));
    const keys = all.slice(0, options.count ?? LIST_COUNT_DEFAULT);
    const last = keys.at(-1);
    const goesOn = all.length > keys.length || pages.some(({ next }) => next !== undefined);
    return goesOn && last !== undefined ? { keys, next: last.key } : { keys };
  }

  subscribe(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    return () => this.#listeners.delete(call);
  }

  watch(watched: Watched, { signal }: WatchOptions = {}): Watch {
    const watch = new KeyWatch(watched, signal);
    const join = (): void => {
      const { spread } = this.#first;
      const parts =
        "key" in watch.what ? [partOf(watch.what.key, spread)] : Array.from({ length: spread }, (_, i) => i);
      for (const part of parts) watch.join(this.#session(part).watches.start);
    };
    // Only then it is known whether the space is spread.
    this.ready.then(join, () => watch.close());
    return watch;
  }

  requestAccess(key: string, message?: string, { withdraw }: { readonly withdraw?: boolean } = {}): Promise<void> {
    return this.#for(key, (session) => session.requestAccess(key, withdraw === true ? undefined : { message }));
  }

  steal(key: string, { reason, ...options }: StealOptions): Promise<Lock> {
    return this.acquire(key, { ...options, steal: true, message: reason });
  }

  close(): Promise<void> {
    this.#closing ??= Promise.all([...this.#sessions.values()].map((session) => session.close())).then(() => undefined);
    return this.#closing;
  }

  [asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Before the first welcome nobody knows whether the space is spread: then the answer says where to ask. */
  #for<T>(key: string, ask: (session: SessionClient) => Promise<T>): Promise<T> {
    const { spread } = this.#first;
    if (spread > 1) return ask(this.#session(partOf(key, spread)));
    return ask(this.#first).catch((error: unknown) => {
      const isElsewhere = error instanceof LatchkeyError && error.code === "misdirected" && this.#first.spread > 1;
      if (isElsewhere) return ask(this.#session(partOf(key, this.#first.spread)));
      throw error;
    });
  }

  #session(part: number): SessionClient {
    const known = this.#sessions.get(part);
    if (known !== undefined) return known;
    const options = { ...this.#options, onStatus: () => this.#tell() };
    const session = new SessionClient(this.#url, options, this.#ports, part);
    this.#sessions.set(part, session);
    // A part that is asked for after the end has its end too.
    if (this.#closing !== undefined) session.close().catch(() => undefined);
    return session;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
    const status = this.connection;
    if (status === this.#told) return;
    this.#told = status;
    this.#options.onStatus?.(status);
  }
}
