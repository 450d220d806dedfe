/** Drives the session machine with a socket, a timer and two clocks, and gives its outputs to those who wait for them. */

import type { Asks } from "./access.ts";
import type { Addition, AdditionCalls, Asked } from "./addition.ts";
import { awakeClock, CHECK_MS, JUMP_MS, NEVER, type Ports } from "./clock.ts";
import type { ConnectOptions } from "./connect.ts";
import { Grant, LockHandle } from "./lock.ts";
import type { AcquireOptions, Lock, OnError } from "./locks.ts";
import { followPage } from "./page-life.ts";
import { reporter } from "./report.ts";
import { SessionMachine } from "./session-machine.ts";
import { SessionSocket } from "./session-socket.ts";
import type { Answer, ConnectionStatus, Entry, Hold, Output } from "./session-types.ts";
import { extensionOf } from "./told.ts";
import { addressOf } from "./url.ts";
import { KeyWatch } from "./watch.ts";
import type { Watches, WatchesLink } from "./watches.ts";

/** How long `close` waits for the socket, ms. */
const CLOSE_MS = 1_000;

/** Timers are not set further ahead than this, ms. */
const TIMER_MAX_MS = 60_000;

/** The pause before a watch is asked for again that the server could not serve, ms. */
const WATCH_AGAIN_MS = 1_000;

/** Who waits for an answer. */
interface Call {
  resolve(value: never): void;
  reject(error: unknown): void;
}

type Claims = ReturnType<SessionMachine<Call>["claims"]>;

export class SessionClient<Added extends AdditionCalls = AdditionCalls> {
  readonly ready: Promise<void>;
  /** The calls of what was plugged in. */
  readonly added: Added | undefined;
  readonly #onStatus: ConnectOptions["onStatus"];
  readonly #ports: Ports;
  readonly #now: () => number;
  readonly #onError: OnError;
  readonly #machine: SessionMachine<Call>;
  readonly #socket: SessionSocket;
  readonly #grants = new WeakMap<Hold, Grant>();
  #settleReady!: (error: Error | undefined) => void;
  #cancelTimer: (() => void) | undefined;
  /** When the timer goes off. */
  #timedAt = NEVER;
  #closing: Promise<void> | undefined;
  #watches: Watches | undefined;
  #unfollow: (() => void) | undefined;

  /** `part`: of a space whose keys are spread. */
  constructor(url: string, options: ConnectOptions, ports: Ports, addition?: Addition<Added>, part = 0) {
    const { auth, space, signal, onError } = options;
    this.#onStatus = options.onStatus;
    this.#ports = ports;
    this.#now = awakeClock(ports);
    this.#onError = reporter(onError);
    this.#machine = new SessionMachine(options, () => ports.random(), addition);
    const address = addressOf(url, "ws", "/v1/session");
    // Some servers must know before the hello where the session goes. Empty: wherever the credential belongs.
    address.searchParams.set("space", space ?? "");
    if (part > 0) address.searchParams.set("part", String(part));
    this.#socket = new SessionSocket(address.href, options.WebSocket ?? WebSocket, auth, {
      afterTurn: (run) => ports.afterTurn(run),
      tell: (event, told) => this.#step((machine, now) => machine[event](told as never, now)),
      onError: this.#onError,
    });
    this.added = addition?.calls({
      ports,
      now: this.#now,
      onError: this.#onError,
      onLook: () => this.#step((machine, now) => machine.tick(now)),
      request: (frame) => this.request(frame),
      wait: (waiting, frame, timeout, give) =>
        this.#wait(waiting, (call, claims) => claims.request(call, frame, timeout), give),
      withdraw: (id) => this.#step((machine, now) => machine.claims(now).withdraw(id)),
    });
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = (error) => (error === undefined ? resolve() : reject(error));
    });
    // Nobody has to look at it.
    this.ready.catch(() => undefined);
    const close = (): void => {
      this.close().catch(() => undefined);
    };
    if (signal?.aborted === true) close();
    else {
      signal?.addEventListener("abort", close, { once: true });
      if (ports.page !== undefined && options.pageLife !== "off") {
        this.#unfollow = followPage(ports.page, {
          leave: () => this.#step((machine, now) => machine.leave(now)),
          wake: () => this.#step((machine, now) => machine.wake(now)),
        });
      }
      this.#step((machine, now) => machine.start(now));
    }
  }

  get connection(): ConnectionStatus {
    return this.#machine.status;
  }

  get session(): string | undefined {
    return this.#machine.session;
  }

  get spread(): number {
    return this.#machine.spread;
  }

  acquire(key: string, options: AcquireOptions = {}): Promise<Lock> {
    const { signal, ...wanted } = options;
    return this.#wait(
      signal,
      (call, claims) => claims.acquire(call, key, wanted),
      (hold: Hold) => this.#handle(hold),
    );
  }

  /** Asks for something that may be waited for, and withdraws it when the signal aborts. `give`: from what was told. */
  #wait<Given>(
    signal: AbortSignal | undefined,
    ask: (call: Call, claims: Claims) => Entry<Call>,
    give: (told: never) => Given,
  ): Promise<Given> {
    return new Promise((resolve, reject) => {
      let waiting = true;
      const settle = (): void => {
        waiting = false;
        signal?.removeEventListener("abort", stop);
      };
      const stop = (): void => {
        if (entry !== undefined) this.#step((machine, now) => machine.claims(now).cancel(entry));
        reject(signal?.reason as Error);
      };
      const call = {
        resolve: (told: never): void => {
          settle();
          resolve(give(told));
        },
        reject: (error: Error): void => {
          settle();
          reject(error);
        },
      };
      const isAborted = (): boolean => signal?.aborted === true;
      const entry = isAborted() ? undefined : this.#step((machine, now) => ask(call, machine.claims(now)));
      // The step may have told of a loss, and whoever heard that may have aborted the signal.
      if (isAborted()) stop();
      else if (waiting) signal?.addEventListener("abort", stop, { once: true });
    });
  }

  /** Asks for something that has an answer of its own. The frame says which, so the caller says the type. */
  request<Told extends Answer>(frame: Asked): Promise<Told> {
    return this.#call((call, claims) => claims.request(call, frame));
  }

  async requestAccess(key: string, asks: Asks | undefined): Promise<void> {
    await this.#call((call, claims) => claims.requestAccess(call, key, asks));
  }

  /** The watches of the session, which are made with the first. */
  watches(make: (link: WatchesLink) => Watches): Watches {
    this.#watches ??= make({
      connection: () => this.connection,
      send: (frame) => this.#step((machine) => machine.watch(frame)),
      later: (run) => this.#ports.timer(WATCH_AGAIN_MS, run, true),
      self: () => ({ session: this.session, user: this.#machine.user }),
      onError: this.#onError,
    });
    return this.#watches;
  }

  close(): Promise<void> {
    this.#closing ??= new Promise((resolve, reject) => {
      this.#step((machine, now) => machine.close(now));
      const cancel = this.#ports.timer(CLOSE_MS, resolve);
      this.#socket.closed.then(() => {
        cancel();
        resolve();
      }, reject);
    });
    return this.#closing;
  }

  #call<Told>(ask: (call: Call, claims: Claims) => void): Promise<Told> {
    return new Promise<Told>((resolve, reject) => {
      this.#step((machine, now) => ask({ resolve, reject }, machine.claims(now)));
    });
  }

  #handle(hold: Hold): Lock {
    let grant = this.#grants.get(hold);
    if (grant === undefined) {
      grant = new Grant(hold);
      this.#grants.set(hold, grant);
    }
    return new LockHandle(grant, {
      check: () => this.#step((machine, now) => machine.tick(now)),
      extend: async (ttl) => extensionOf(await this.#call((call, claims) => claims.extend(call, hold, ttl))),
      release: async () => {
        await this.#call((call, claims) => claims.release(call, hold));
      },
      handTo: async (session) => {
        await this.request({ t: "hand_to", key: hold.key, token: hold.token, session });
      },
      watch: (signal) => {
        const watch = new KeyWatch(hold.key, signal);
        watch.follow([this]).catch((error: Error) => watch.close(error));
        return watch;
      },
      onError: this.#onError,
    });
  }

  /** One input to the machine, all that it wants done for it, and the timer for what comes next. */
  #step<T>(input: (machine: SessionMachine<Call>, now: number) => T): T {
    const result = input(this.#machine, this.#now());
    for (let output = this.#machine.take(); output !== undefined; output = this.#machine.take()) this.#do(output);
    this.#wakeAt(this.#machine.wakeAt);
    return result;
  }

  /** A timer that is set already and goes off earlier is left alone: most steps only move a deadline further away. */
  #wakeAt(at: number): void {
    const now = this.#now();
    const timedAt = Math.min(at, now + (this.#machine.holding ? CHECK_MS : TIMER_MAX_MS));
    if (at !== NEVER && timedAt >= this.#timedAt) return;
    this.#cancelTimer?.();
    this.#timedAt = NEVER;
    if (at === NEVER) return;
    this.#timedAt = timedAt;
    this.#cancelTimer = this.#ports.timer(Math.max(0, Math.ceil(timedAt - now)), () => {
      this.#timedAt = NEVER;
      this.#step((machine, time) => (time < timedAt + JUMP_MS ? machine.tick(time) : machine.wake(time)));
    });
  }

  #do(output: Output<Call>): void {
    switch (output.kind) {
      case "connect":
        return this.#socket.open();
      case "send":
        return this.#socket.send(output.text);
      case "disconnect":
        return this.#socket.hangUp(output.code);
      case "granted":
        return output.call.resolve(output.hold as never);
      case "answered":
        return output.call.resolve(output.frame as never);
      case "failed":
        return output.call.reject(output.error);
      case "lost":
        return this.#grants.get(output.hold)?.lose(output.error);
      case "watched":
        return this.#watches?.received(output.told);
      case "status":
        this.#watches?.connection(output.status);
        // The first one is `connected` or `closed`; later ones settle nothing.
        this.#settleReady(output.error);
        if (output.status === "closed") this.#unfollow?.();
        return queueMicrotask(() => this.#onStatus?.(output.status));
      case "trouble":
        return this.#onError(output.error, { where: output.where });
      default:
        return this.added?.heard(output);
    }
  }
}
