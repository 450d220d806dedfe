/** The same locks over plain HTTP, for programs that cannot keep a connection, such as edge functions. */

import { HTTP_TIMEOUT_MAX_MS } from "../protocol/limits.ts";
import { awakeClock, NEVER, type Ports, systemPorts } from "./clock.ts";
import { LockLostError, LockTimeoutError, RefusedError } from "./errors.ts";
import { HttpHold } from "./http-hold.ts";
import { HttpIdempotency } from "./http-idempotency.ts";
import { encoded, keyPath, requestId } from "./http-path.ts";
import {
  ANSWER_MS,
  type Fetch,
  type HttpAnswer,
  type HttpRequest,
  HttpRequests,
  isTransient,
  OVERRUN_MS,
} from "./http-request.ts";
import type { Attempt, Idempotency, IdempotencyCalls, IdempotentOptions } from "./idempotency-calls.ts";
import { idempotent } from "./idempotent.ts";
import { leaseUntil, marginMs } from "./lease.ts";
import { LockHandle } from "./lock.ts";
import type {
  AcquireOptions,
  Extension,
  KeyList,
  KeyStatus,
  ListOptions,
  Lock,
  LockSet,
  Locks,
  Mode,
  OnError,
  ReleaseResult,
} from "./locks.ts";
import type { Auth } from "./session-socket.ts";
import { extensionOf, releaseOf } from "./answers.ts";
import { keyListOf, keyStatusOf } from "./told.ts";
import { tryAcquire, withLock } from "./with-lock.ts";

export interface HttpOptions {
  readonly auth?: Auth | undefined;
  /** Default `default`. */
  readonly space?: string | undefined;
  /** Default the global one. */
  readonly fetch?: Fetch | undefined;
  /** Hears of failures that no call can report, and of those after which a request is sent again. */
  readonly onError?: OnError | undefined;
}

export interface HttpAcquireOptions extends AcquireOptions {
  /** Extend the lease again and again, for as long as the lock is held. Default false: `ttl` is all the time there is. */
  readonly renew?: boolean | undefined;
}

export interface HttpClient extends Locks, Idempotency {
  acquire(key: string, options?: HttpAcquireOptions): Promise<Lock>;
  tryAcquire(key: string, options?: Omit<HttpAcquireOptions, "timeout">): Promise<Lock | null>;
  withLock<T>(key: string, work: (lock: Lock) => T | PromiseLike<T>, options?: HttpAcquireOptions): Promise<T>;
  withLock<T>(
    keys: readonly string[],
    work: (locks: LockSet) => T | PromiseLike<T>,
    options?: HttpAcquireOptions,
  ): Promise<T>;
}

/**
 * A client of the HTTP API at `url`. A lock is held by its token and its lease alone: default 30 s, see `renew`. An acquire
 * that gets no answer is sent again with the same request id, so it never waits behind itself.
 */
export function httpClient(url: string, options: HttpOptions = {}, ports: Ports = systemPorts): HttpClient {
  return new HttpLocks(url, options, ports);
}

class HttpLocks implements HttpClient {
  readonly idempotency: IdempotencyCalls;
  readonly #ports: Ports;
  readonly #now: () => number;
  readonly #onError: OnError;
  readonly #requests: HttpRequests;
  readonly #holds = new Set<HttpHold>();

  constructor(url: string, { auth, space, fetch, onError }: HttpOptions, ports: Ports) {
    this.#ports = ports;
    this.#now = awakeClock(ports);
    // In a turn of its own: whatever it throws is an uncaught error there, and breaks nothing here.
    this.#onError = (error, context) => queueMicrotask(() => onError?.(error, context));
    const send = fetch ?? ((address, init) => globalThis.fetch(address, init));
    this.#requests = new HttpRequests({ url, space, auth, fetch: send, onError: this.#onError }, ports, this.#now);
    const own = { ports, now: this.#now, onError: this.#onError, requests: this.#requests };
    this.idempotency = new HttpIdempotency(own);
  }

  async acquire(key: string, options: HttpAcquireOptions = {}): Promise<Lock> {
    const { reentrant, renew = false } = options;
    options.signal?.throwIfAborted();
    const outer = reentrant === true ? this.#heldOn(key) : undefined;
    if (outer === undefined) return this.#handle(await this.#granted(key, options, undefined), renew);
    outer.open += 1;
    try {
      return this.#handle(await this.#granted(key, options, outer), renew);
    } catch (error) {
      outer.leave();
      if (error instanceof LockLostError) outer.end(error);
      throw error;
    }
  }

  tryAcquire(key: string, options?: Omit<HttpAcquireOptions, "timeout">): Promise<Lock | null> {
    return tryAcquire(this, key, options);
  }

  withLock<T>(
    keys: string | readonly string[],
    work: (held: Lock & LockSet) => T | PromiseLike<T>,
    options?: HttpAcquireOptions,
  ): Promise<T> {
    return withLock(this, this.#now, keys, work, options);
  }

  async extend(key: string, token: string, ttl: number): Promise<Extension> {
    const { body } = await this.#post(key, "extend", { token, ttl });
    return extensionOf(body as never);
  }

  release(key: string, token: string): Promise<ReleaseResult> {
    return this.#release(key, token, requestId());
  }

  idempotent<T>(key: string, options: IdempotentOptions, work: (attempt: Attempt) => T | PromiseLike<T>): Promise<T> {
    return idempotent(this.idempotency, this.#onError, key, options, work);
  }

  async status(key: string): Promise<KeyStatus> {
    const { body } = await this.#ask({ method: "GET", path: keyPath("latch", key), key });
    return keyStatusOf(body as never);
  }

  async list({ prefix = "", after, count, queue }: ListOptions = {}): Promise<KeyList> {
    encoded(prefix);
    const query = { prefix, after, count: count?.toString(), queue: queue?.toString() };
    const { body } = await this.#ask({ method: "GET", path: "/latch", query, key: prefix });
    return keyListOf(body as never);
  }

  /** One claim after another, each with an id of its own that all its repeats bear, until one is granted or the time is over. */
  async #granted(key: string, options: AcquireOptions, outer: HttpHold | undefined): Promise<HttpHold> {
    const { timeout, signal, ttl, mode, limit, meta, steal, message } = options;
    const path = `${keyPath("latch", key)}/acquire`;
    const giveUpAt = this.#now() + (timeout ?? NEVER);
    const until = giveUpAt + (timeout === 0 ? ANSWER_MS : OVERRUN_MS);
    const wanted = outer ? { ttl, token: outer.lock.token, nest: true } : { ttl, mode, limit, meta, steal, message };
    for (;;) {
      const wait = Math.ceil(Math.min(Math.max(0, giveUpAt - this.#now()), HTTP_TIMEOUT_MAX_MS));
      // A timeout that is told with 408 would be sent again by some HTTP clients.
      const body = { ...wanted, timeout: wait, request_id: requestId(), on_timeout: "ok" };
      const late = (answer: HttpAnswer): void => this.#letGo(key, answer);
      const request = { method: "POST", path, body, key, until, signal, late } as const;
      let answer = await this.#requests.ask(request).catch((error) => {
        // As in a session: whatever kept the grant away, the time is over. The cause says more.
        if (timeout && isTransient(error)) throw new LockTimeoutError(key, { cause: error });
        throw error;
      });
      if (isStale(answer)) answer = await this.#proven(request, answer);
      if (answer.body["status"] === "acquired") {
        const hold = this.#hold(answer, outer);
        if (hold.error === undefined) return hold;
        // It took so long to arrive that nothing is left of it. Nobody must take it for a lock.
        this.#letGo(key, answer);
        throw hold.error;
      }
      if (this.#now() >= giveUpAt) throw new LockTimeoutError(key);
    }
  }

  /** The same request once more: the same claim, but its lease is counted from a send time of now. */
  async #proven(request: HttpRequest, granted: HttpAnswer): Promise<HttpAnswer> {
    try {
      return await this.#requests.ask({ ...request, until: this.#now() + Number(granted.body["expires_in"]) });
    } catch (error) {
      // It came and went unseen, so nothing was promised, and the wait goes on.
      if (error instanceof LockLostError && request.body?.["token"] === undefined) return { ...granted, body: {} };
      this.#letGo(request.key, granted);
      throw error;
    }
  }

  #hold({ body, sentAt }: HttpAnswer, outer: HttpHold | undefined): HttpHold {
    const told = body as unknown as Acquired;
    const expiresInMs = told.expires_in ?? undefined;
    const ttl = told.ttl ?? undefined;
    const until = leaseUntil(sentAt, expiresInMs);
    if (outer !== undefined) {
      // Re-entry never shortens a lease.
      outer.setLease(Math.max(outer.leaseUntil, until), ttl);
      return outer;
    }
    const hold = new HttpHold({
      lock: told,
      ttl,
      leaseUntil: until,
      ports: this.#ports,
      now: this.#now,
      onError: this.#onError,
      onEnd: (ended) => this.#holds.delete(ended),
    });
    if (hold.error === undefined) this.#holds.add(hold);
    return hold;
  }

  #handle(hold: HttpHold, renew: boolean): Lock {
    const release = requestId();
    let left = false;
    if (renew) hold.renew((signal) => this.#extendHold(hold, undefined, signal));
    return new LockHandle(hold.lock, {
      get grant() {
        hold.check();
        return hold.grant;
      },
      extend: (ttl) => this.#extendHold(hold, ttl),
      release: () => {
        if (!left) hold.leave();
        left = true;
        return this.#releaseHold(hold, release);
      },
      handTo: (session) => this.#handOver(hold, session),
      watch: () => {
        throw new RefusedError("unsupported", "over HTTP nobody tells who else wants the lock");
      },
      onError: this.#onError,
    });
  }

  async #extendHold(hold: HttpHold, asked: number | undefined, signal?: AbortSignal): Promise<Extension> {
    if (hold.error !== undefined) throw hold.error;
    const { key, token } = hold.lock;
    const ttl = asked ?? hold.ttl;
    if (ttl === undefined) throw new RefusedError("bad_request", "a lock without a lease needs a ttl to be extended");
    // It may shorten the lease, as soon as it arrives.
    hold.setLease(Math.min(hold.leaseUntil, leaseUntil(this.#now(), ttl)), undefined);
    try {
      const { body, sentAt } = await this.#post(key, "extend", { token, ttl }, signal);
      const extension = extensionOf(body as never);
      hold.setLease(leaseUntil(sentAt, extension.expiresIn), ttl);
      return extension;
    } catch (error) {
      if (error instanceof LockLostError && signal?.aborted !== true) hold.end(error);
      throw error;
    }
  }

  /** One handle's release; `id` is its own, so that trying it again does not count twice. */
  #releaseHold(hold: HttpHold, id: string): Promise<void> {
    return hold.inTurn(async () => {
      if (hold.error !== undefined) throw hold.error;
      const { key, token } = hold.lock;
      try {
        const { depth } = await this.#release(key, token, id);
        if (depth === 0) hold.end("released");
      } catch (error) {
        if (error instanceof LockLostError) hold.end(error);
        throw error;
      }
    });
  }

  #handOver(hold: HttpHold, session: string): Promise<void> {
    return hold.inTurn(async () => {
      if (hold.error !== undefined) throw hold.error;
      const { key, token } = hold.lock;
      try {
        await this.#post(key, "release", { token, hand_to: session, request_id: requestId() });
      } catch (error) {
        if (error instanceof LockLostError) hold.end(error);
        throw error;
      }
      hold.leave();
      hold.end("released");
    });
  }

  async #release(key: string, token: string, id: string): Promise<ReleaseResult> {
    const { body } = await this.#post(key, "release", { token, request_id: id });
    return releaseOf(body);
  }

  /** A grant that nobody waits for any more. */
  #letGo(key: string, { body }: HttpAnswer): void {
    if (body["status"] !== "acquired") return;
    this.release(key, String(body["token"])).catch((error: unknown) => this.#onError(error, { where: "release" }));
  }

  #post(key: string, verb: string, body: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<HttpAnswer> {
    return this.#ask({ method: "POST", path: `${keyPath("latch", key)}/${verb}`, body, key, signal });
  }

  #ask(request: Omit<HttpRequest, "until">): Promise<HttpAnswer> {
    return this.#requests.ask({ ...request, until: this.#now() + ANSWER_MS });
  }

  #heldOn(key: string): HttpHold | undefined {
    for (const hold of this.#holds) {
      hold.check();
      if (hold.lock.key === key && hold.open > 0 && hold.error === undefined) return hold;
    }
    return undefined;
  }
}

interface Acquired {
  readonly key: string;
  readonly token: string;
  readonly fence: number;
  readonly mode: Mode;
  /** Null: a session is the lease. */
  readonly ttl: number | null;
  readonly expires_in: number | null;
}

/** Whether the grant came so long after it was asked for, most likely after a wait, that too little of its lease is proven. */
function isStale({ body, sentAt, receivedAt }: HttpAnswer): boolean {
  const { expires_in: expiresInMs } = body as unknown as Acquired;
  return typeof expiresInMs === "number" && receivedAt - sentAt > marginMs(expiresInMs);
}
