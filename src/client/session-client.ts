/**
 * The client over a session: it drives the session machine with a socket, a timer and two clocks, and gives its outputs to those
 * who wait for them. Most spaces are one session. Where the server spreads the keys of a space over several parts it says so in
 * its first welcome, and a key of another part gets a session there; see `parts.ts`.
 */

import { SUBPROTOCOL } from "../protocol/limits.ts";
import type { Extended, ListFrame, Released, StatusFrame } from "../protocol/server-frames.ts";
import type { Addition, Asked, Plug, SessionLink } from "./addition.ts";
import { askAcquire, askExtend, askOther, askRelease, giveUp } from "./claim-asks.ts";
import type { ClaimBook } from "./claim-book.ts";
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
import { reporter } from "./report.ts";
import { SessionMachine } from "./session-machine.ts";
import { SessionSocket, type Surroundings } from "./session-socket.ts";
import type { Answer, Call, ConnectionStatus, Entry, Held, World } from "./session-types.ts";
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
  readonly ready: Promise<void>;
  readonly locks: LatchLocks = webLocks(this);
  /** What was plugged in. */
  readonly added: Added | undefined;
  readonly ports: Ports;
  readonly now: () => number;
  readonly onError: OnError;
  readonly socket: SessionSocket;
  readonly #options: ConnectOptions;
  readonly #open: (part: number) => SessionClient<Added>;
  readonly #machine: SessionMachine;
  /** The clock will be looked at then. */
  readonly #wakeAt: ReturnType<typeof waker>;
  readonly #listeners: Set<() => void> = new Set();
  /** Aborts when the session is closed. */
  readonly #over = new AbortController();
  #settleReady!: (error: Error | undefined) => void;
  #told: ConnectionStatus = "connecting";
  #closing: Promise<void> | undefined;
  #parts: Parts<Added> | undefined;
  #loading: Promise<Parts<Added>> | undefined;

  /** `part`: of a space whose keys are spread; then all that is asked here is asked of this session. */
  constructor(url: string, options: ConnectOptions, ports: Ports, plug?: Plug<Added>, part = 0) {
    const { auth, grace = 0, space = "", signal } = options;
    const onStatus = (): void => this.#changed();
    this.#open = (other) =>
      new SessionClient(url, { ...options, onStatus, signal: this.#over.signal }, ports, plug, other);
    this.#options = options;
    this.ports = ports;
    this.now = awakeClock(ports);
    this.onError = reporter(options.onError);
    const address = addressOf(url, "ws", "/v1/session");
    // Some servers must know before the hello where the session goes. Empty: wherever the credential belongs.
    address.searchParams.set("space", space);
    if (part > 0) address.searchParams.set("part", String(part));
    const credential = async (): Promise<string | undefined> => {
      if (grace > 0) this.#machine.resume = await import("./resume.ts");
      return typeof auth === "function" ? auth() : auth;
    };
    const Socket = options.WebSocket ?? WebSocket;
    this.socket = new SessionSocket(this, credential, () => new Socket(address.href, [SUBPROTOCOL]));
    this.added = plug?.(this);
    this.#machine = new SessionMachine(options, this, this.added);
    this.#wakeAt = waker(ports, this.now, (isLate) => this.#step((machine) => isLate && machine.wake()));
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = (error) => (error === undefined ? resolve() : reject(error));
    });
    // Nobody has to look at it.
    this.ready.catch(() => undefined);
    onAbort(signal, () => this.close().catch(() => undefined));
    this.#step((machine) => machine.start());
    if (ports.page !== undefined && options.pageLife !== "off") {
      followPage(ports.page, this.#over.signal, (meaning) => this.#step((machine) => machine[meaning]()));
    }
  }

  get connection(): ConnectionStatus {
    return this.#parts?.connection ?? this.ownConnection;
  }

  /** Of this session alone. */
  get ownConnection(): ConnectionStatus {
    return this.#machine.status;
  }

  get session(): string | undefined {
    return this.#machine.session;
  }

  get user(): string | undefined {
    return this.#machine.user;
  }

  acquire(key: string, { signal, ...wanted }: AcquireOptions = {}): Promise<Lock> {
    return this.at(key, (session) =>
      session.wait(
        signal,
        (call, book) => askAcquire(book, call, key, wanted),
        (hold: Held) => new LockHandle(hold, this.#gripOn(session, hold)),
      ),
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

  async extend(key: string, token: string, ttl: number): Promise<Extension> {
    return extensionOf(await this.#askAt<Extended>({ t: "extend", key, token, ttl }));
  }

  async release(key: string, token: string): Promise<ReleaseResult> {
    return releaseOf(await this.#askAt<Released>({ t: "release", key, token }));
  }

  async status(key: string): Promise<KeyStatus> {
    const [told, { statusOf }] = await Promise.all([
      this.#askAt<StatusFrame>({ t: "status", key }),
      import("./told.ts"),
    ]);
    return statusOf(told);
  }

  async list(options: ListOptions = {}): Promise<KeyList> {
    const [told, { listOf }] = await Promise.all([
      this.request<ListFrame>({ t: "list", ...options }),
      import("./told.ts"),
    ]);
    return listOf(this, options, told);
  }

  subscribe(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    return () => this.#listeners.delete(call);
  }

  watch(watched: Watched, { signal }: WatchOptions = {}): KeyWatch {
    const watch = new KeyWatch(watched, signal);
    import("./watching.ts").then(({ follow }) => follow(watch, this)).catch((error: Error) => watch.close(error));
    return watch;
  }

  async requestAccess(key: string, message?: string, options?: { readonly withdraw?: boolean }): Promise<void> {
    const { requestAccess } = await import("./access.ts");
    await this.at(key, (session) => requestAccess(session, key, message, options));
  }

  close(): Promise<void> {
    this.#closing ??= this.#parts?.close() ?? this.closeOwn();
    return this.#closing;
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

  /** Over how many parts the keys of the space are spread, as far as it is known. */
  get spread(): number {
    return this.#machine.spread;
  }

  /** The sessions of a space that is spread. */
  loadParts(): Promise<Parts<Added>> {
    this.#loading ??= import("./parts.ts").then(({ Parts }) => {
      this.#parts = new Parts(this, this.spread, this.#open);
      return this.#parts;
    });
    return this.#loading;
  }

  // Of this session alone.

  /** Asks for something that has an answer of its own. The frame says which, so the caller says the type. */
  request<Told extends Answer>(frame: Asked): Promise<Told> {
    return this.wait(undefined, (call, book) => askOther(book, call, frame));
  }

  /** Asks for something, and withdraws it when the signal aborts. `give`: from what was told, before anything else is heard. */
  async wait<Given>(
    signal: AbortSignal | undefined,
    ask: (call: Call, book: ClaimBook) => Entry,
    give: (told: never) => Given = (told) => told,
  ): Promise<Given> {
    signal?.throwIfAborted();
    let entry: Entry;
    const stop = (): void => this.book((book) => giveUp(book, entry, signal?.reason as Error));
    try {
      return await new Promise((resolve, reject) => {
        entry = this.book((book) => ask({ resolve: (told) => resolve(give(told as never)), reject }, book));
        // The asking may have told of a loss, and whoever heard that may have aborted the signal.
        onAbort(signal, stop);
      });
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** What is asked and held, after a look at the clock: a lock whose time is over is lost before this returns. */
  book<T>(use: (book: ClaimBook) => T): T {
    return this.#step(({ book }) => use(book));
  }

  /** What the socket tells. */
  fromSocket(event: "opened" | "received" | "closed", told: string | number | undefined): void {
    this.#step((machine) => machine[event](told as never));
  }

  // What the machine tells.

  changed(status: ConnectionStatus, error?: LatchkeyError): void {
    this.#machine.book.watches?.connection(status);
    // The first one is `connected` or `closed`; later ones settle nothing.
    this.#settleReady(error);
    if (status === "closed") this.#over.abort();
    queueMicrotask(() => this.#changed());
  }

  async closeOwn(): Promise<void> {
    this.#step((machine) => machine.close());
    await this.socket.closed;
  }

  #askAt<Told extends Answer>(frame: Extract<Asked, { key: string }>): Promise<Told> {
    return this.at(frame.key, (session) => session.request(frame));
  }

  #changed(): void {
    for (const tell of this.#listeners) tell();
    const { connection } = this;
    if (connection === this.#told) return;
    this.#told = connection;
    this.#options.onStatus?.(connection);
  }

  /** One input to the machine, and the timer for what comes next. */
  #step<T>(input: (machine: SessionMachine) => T): T {
    const result = this.#machine.step(this.now(), input);
    this.#wakeAt(this.#machine.wakeAt, this.#machine.book.holds.size > 0);
    return result;
  }

  /** For one handle of a lock. */
  #gripOn(session: SessionClient<Added>, hold: Held): Grip {
    const { key, token, grant } = hold;
    return {
      grant,
      check: () => session.book(() => undefined),
      extend: async (ttl) =>
        extensionOf(await session.wait(undefined, (call, book) => askExtend(book, call, hold, ttl))),
      release: () => session.wait(undefined, (call, book) => askRelease(book, call, hold)),
      handTo: (to) => session.request({ t: "hand_to", key, token, session: to }),
      watch: (signal) => this.watch(key, { signal }),
      onError: this.onError,
    };
  }
}
