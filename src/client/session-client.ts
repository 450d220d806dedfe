/**
 * The client over a session: it drives the session machine with a socket, a timer and two clocks, and gives its outputs to those
 * who wait for them. Most spaces are one session. Where the server spreads the keys of a space over several parts it says so in
 * its first welcome, and a key of another part gets a session there; see `parts.ts`.
 */

import { SUBPROTOCOL } from "../protocol/limits.ts";
import type { ListFrame, StatusFrame } from "../protocol/server-frames.ts";
import type { Addition, Asked, Asking, Plug, SessionLink } from "./addition.ts";
import { askAcquire, askExtend, askOther, askRelease, giveUp } from "./claim-asks.ts";
import { awakeClock, type Ports } from "./clock.ts";
import type { Client, ConnectOptions, StealOptions } from "./connect.ts";
import { asyncDispose } from "./dispose.ts";
import type { LatchkeyError } from "./errors.ts";
import { type Grip, LockHandle } from "./lock.ts";
import type {
  AcquireOptions,
  Extension,
  KeyList,
  KeyStatus,
  ListOptions,
  Lock,
  LockSet,
  OnError,
  ReleaseResult,
} from "./locks.ts";
import { followPage } from "./page-life.ts";
import type { Parts } from "./parts.ts";
import { SessionMachine } from "./session-machine.ts";
import { SessionSocket, type Surroundings } from "./session-socket.ts";
import type { ConnectionStatus, Entry, Held, World } from "./session-types.ts";
import { onAbort } from "./signals.ts";
import { extensionOf, releaseOf } from "./answers.ts";
import { addressOf } from "./url.ts";
import { waker } from "./waker.ts";
import { KeyWatch } from "./watch.ts";
import type { Watched, WatchOptions } from "./watch-types.ts";
import type { WatchesLink } from "./watches.ts";
import type { LatchLocks } from "./web-locks/types.ts";
import { webLocks } from "./web-locks/web-locks.ts";
import { tryAcquire, withLock } from "./with-lock.ts";

export class SessionClient<Added extends Addition = Addition>
  implements Client, SessionLink, Surroundings, WatchesLink, World
{
  // Declared: what the constructor makes, as in `lock.ts`.
  declare readonly ready: Promise<void>;
  readonly locks: LatchLocks = webLocks(this);
  /** What was plugged in. */
  declare readonly added: Added | undefined;
  declare readonly ports: Ports;
  readonly now: () => number;
  declare readonly onError: OnError;
  declare readonly socket: SessionSocket;
  readonly #options: ConnectOptions;
  /** Another session, which is all one part of a space whose keys are spread; its address is made of this one's. */
  readonly #open: (partOf: (url: string) => string) => SessionClient<Added>;
  /** Of this session alone, also when it is one of several. */
  declare readonly machine: SessionMachine;
  /** The clock will be looked at then. */
  readonly #wakeAt: ReturnType<typeof waker>;
  readonly #listeners: Set<() => unknown> = new Set();
  /** Aborts when the session is closed. */
  readonly #over = new AbortController();
  #settleReady!: (error: Error | undefined) => void;
  #parts: Parts<Added> | undefined;

  constructor(url: string, options: ConnectOptions, ports: Ports, plug?: Plug<Added>) {
    const { auth, grace, space = "", signal } = options;
    const onStatus = (): void => this.#changed();
    this.#open = (partOf) =>
      new SessionClient(partOf(url), { ...options, onStatus, signal: this.#over.signal }, ports, plug);
    this.#options = options;
    let told: ConnectionStatus = "connecting";
    this.subscribe(() => {
      if (told !== this.connection) options.onStatus?.((told = this.connection));
    });
    this.ports = ports;
    this.now = awakeClock(ports);
    // In a turn of its own: whatever it throws is an uncaught error there, and breaks nothing here.
    this.onError = (error, context) => queueMicrotask(() => options.onError?.(error, context));
    const address = addressOf(url, "ws", "/v1/session");
    // Some servers must know before the hello where the session goes. Empty: wherever the credential belongs.
    address.searchParams.set("space", space);
    const credential = async (): Promise<string | undefined> => {
      if (grace) this.machine.resuming = await import("./resume.ts");
      return typeof auth === "function" ? auth() : auth;
    };
    const Socket = options.WebSocket ?? WebSocket;
    this.socket = new SessionSocket(this, credential, () => new Socket(address.href, [SUBPROTOCOL]));
    this.added = plug?.(this);
    this.machine = new SessionMachine(options, this, this.added);
    this.#wakeAt = waker(ports, this.now, (isLate) => this.book((machine) => isLate && machine.wake()));
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = (error) => (error ? reject(error) : resolve());
    });
    // Nobody has to look at it.
    this.ready.catch(() => undefined);
    onAbort(signal, () => this.close());
    this.tell("wake");
    if (ports.page && options.pageLife !== "off") {
      followPage(ports.page, this.#over.signal, (meaning) => this.tell(meaning));
    }
  }

  get connection(): ConnectionStatus {
    return this.#parts?.connection ?? this.machine.status;
  }

  get session(): string | undefined {
    return this.machine.welcomeTold?.session;
  }

  get user(): string | undefined {
    return this.machine.welcomeTold?.user ?? this.#options.user;
  }

  acquire(key: string, { signal, ...wanted }: AcquireOptions = {}): Promise<Lock> {
    return this.at(key, (session) =>
      session.wait(askAcquire(key, wanted), (hold: Held) => new LockHandle(hold, this.#gripOn(session, hold)), signal),
    );
  }

  tryAcquire(key: string, options?: Omit<AcquireOptions, "timeout">): Promise<Lock | null> {
    return tryAcquire(this, key, options);
  }

  withLock<T>(
    keys: string | readonly string[],
    work: (held: Lock & LockSet) => T | PromiseLike<T>,
    options?: AcquireOptions,
  ): Promise<T> {
    return withLock(this, this.now, keys, work, options);
  }

  steal(key: string, { reason, ...options }: StealOptions): Promise<Lock> {
    return this.acquire(key, { ...options, steal: true, message: reason });
  }

  extend(key: string, token: string, ttl: number): Promise<Extension> {
    return this.#askAt({ t: "extend", key, token, ttl }, extensionOf);
  }

  release(key: string, token: string): Promise<ReleaseResult> {
    return this.#askAt({ t: "release", key, token }, releaseOf);
  }

  async status(key: string): Promise<KeyStatus> {
    const told = await this.#askAt<StatusFrame>({ t: "status", key });
    return (await import("./told.ts")).statusOf(told);
  }

  async list(options: ListOptions = {}): Promise<KeyList> {
    const told = await this.request<ListFrame>({ t: "list", ...options });
    return (await import("./told.ts")).listOf(this, options, told);
  }

  subscribe(listener: () => void): () => void {
    const call = (): unknown => this.#listeners.has(call) && listener();
    this.#listeners.add(call);
    return () => this.#listeners.delete(call);
  }

  watch(watched: Watched, { signal }: WatchOptions = {}): KeyWatch {
    const watch = new KeyWatch(watched, signal);
    import("./watching.ts")
      .then(({ follow }) => follow(watch, this))
      .catch((error: Error) => {
        this.onError(error, { where: "watch" });
        watch.close(error);
      });
    return watch;
  }

  async requestAccess(key: string, message?: string, options?: { readonly withdraw?: boolean }): Promise<void> {
    const { requestAccess } = await import("./access.ts");
    await this.at(key, (session) => requestAccess(session, key, message, options));
  }

  close(): Promise<void> {
    return this.#parts?.close() ?? this.closeOwn();
  }

  [asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Asks the session that has the key. Of a space that is spread the first answer that says so brings the other sessions. */
  async at<T>(key: string, ask: (session: SessionClient<Added>) => Promise<T>): Promise<T> {
    try {
      return await ask(this.#parts?.of(key) ?? this);
    } catch (error) {
      if ((error as Partial<LatchkeyError> | undefined)?.code !== "misdirected") throw error;
      return ask((await this.loadParts()).of(key));
    }
  }

  /** The sessions of a space that is spread. */
  async loadParts(): Promise<Parts<Added>> {
    const { Parts } = await import("./parts.ts");
    this.#parts ??= new Parts(this, this.#open);
    return this.#parts;
  }

  // Of this session alone.

  /** Asks for something that has an answer of its own. The frame says which, so the caller says the type. */
  request<Given>(frame: Asked, give?: (told: never) => Given): Promise<Given> {
    return this.wait(askOther(frame), give);
  }

  /** Asks for something, and withdraws it when the signal aborts. `give`: from what was told, before anything else is heard. */
  async wait<Given>(
    asking: Asking,
    give: (told: never) => Given = (told) => told,
    signal?: AbortSignal,
  ): Promise<Given> {
    signal?.throwIfAborted();
    let entry: Entry;
    const stop = (): void => this.book((book) => giveUp(book, entry, signal?.reason as Error));
    try {
      return await new Promise((resolve, reject) => {
        entry = this.book((book) => asking(book, { tell: (told) => resolve(give(told as never)), refuse: reject }));
        // The asking may have told of a loss, and whoever heard that may have aborted the signal.
        onAbort(signal, stop);
      });
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /**
   * What is asked and held, after a look at the clock: a lock whose time is over is lost before this returns. One input to the machine, and
   * the timer for what comes next.
   */
  book<T>(use: (book: SessionMachine) => T): T {
    const result = this.machine.step(this.now(), use);
    this.#wakeAt(this.machine.wakeAt, this.machine.holds.size > 0);
    return result;
  }

  /** What the socket tells, and the page. */
  tell(event: "opened" | "received" | "closed" | "leave" | "wake", told?: string | number): void {
    this.book((machine) => machine[event](told as never));
  }

  // What the machine tells.

  changed(status: ConnectionStatus, error?: LatchkeyError): void {
    this.machine.watches?.connection(status);
    // The first one is `connected` or `closed`; later ones settle nothing.
    this.#settleReady(error);
    if (status === "closed") this.#over.abort();
    this.#changed();
  }

  closeOwn(): Promise<void> {
    this.book((machine) => machine.close());
    return this.socket.closed;
  }

  #askAt<Given>(frame: Extract<Asked, { key: string }>, give?: (told: never) => Given): Promise<Given> {
    return this.at(frame.key, (session) => session.request(frame, give));
  }

  /** Each is called in a turn of its own: one that throws keeps no other from it. */
  #changed(): void {
    for (const tell of this.#listeners) queueMicrotask(tell);
  }

  /** For one handle of a lock. */
  #gripOn(session: SessionClient<Added>, hold: Held): Grip {
    const { key, token, grant } = hold;
    return {
      get grant() {
        return session.book(() => grant);
      },
      extend: (ttl) => session.wait(askExtend(hold, ttl), extensionOf),
      release: () => session.wait(askRelease(hold)),
      handTo: (to) => session.request({ t: "hand_to", key, token, session: to }),
      watch: (signal) => this.watch(key, { signal }),
      onError: this.onError,
    };
  }
}
