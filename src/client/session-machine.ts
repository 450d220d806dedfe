/**
 * A session as seen by a client, without input or output: time, texts and closes come in as arguments, and what is to be
 * done comes out of `take`. Each step first serves what is over by the clock, so a lock whose time has passed is lost
 * before anything else is looked at.
 */

import {
  CLOSE_INTERNAL,
  CLOSE_NORMAL,
  CLOSE_OVERLOADED,
  CLOSE_SESSION_ENDED,
  CLOSE_TOO_MANY,
  FATAL_CLOSE_CODES,
} from "../protocol/close.ts";
import type { ClientFrame } from "../protocol/frames.ts";
import { PROTOCOL_VERSION } from "../protocol/limits.ts";
import type { ServerFrame, Welcome } from "../protocol/server-frames.ts";
import { ACK, PING, PONG } from "../protocol/server-frames.ts";
import type { Addition, AdditionCalls } from "./addition.ts";
import { backoffMs, laterMs } from "./backoff.ts";
import { ClaimTable } from "./claim-table.ts";
import { NEVER } from "./clock.ts";
import { errorOf, type LatchkeyError, SessionClosedError, UnavailableError } from "./errors.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { Reconcile } from "./resume.ts";
import { type ConnectionStatus, type Output, type SessionSettings, WATCH_MARK } from "./session-types.ts";
import type { WatchAsk, WatchTold } from "./watches.ts";

/** A connection counts as a success after this long, ms: one that opens and closes at once is a failure. */
const MIN_UPTIME_MS = 5_000;
/** An attempt to connect, from the credential to the welcome, may take this long, ms. */
const CONNECT_TIMEOUT_MS = 10_000;

/** `idle`: waits for the next attempt. `greeting`: hello is sent. */
type State = "idle" | "connecting" | "greeting" | "open" | "closed";

type ClaimCall = "acquire" | "book" | "cancel" | "extend" | "release" | "request";

/** The server is there, but asks to come back later. */
const LATER_CODES: ReadonlySet<number> = new Set([CLOSE_OVERLOADED, CLOSE_TOO_MANY, CLOSE_INTERNAL]);

export class SessionMachine<Call> {
  readonly #settings: SessionSettings;
  readonly #reconnect: NonNullable<SessionSettings["reconnect"]>;
  readonly #random: () => number;
  readonly #outputs: Output<Call>[] = [];
  readonly #heartbeat = new Heartbeat();
  readonly #claims: ClaimTable<Call>;
  #status: ConnectionStatus = "connecting";
  #state: State = "idle";
  /** Not `open`: when the next attempt begins, or the present one has failed. */
  #stateUntil = NEVER;
  /** When hello was sent, and when it was welcomed. */
  #helloAt = 0;
  #openedAt = 0;
  /** Kept over a loss of the connection, to resume with. */
  #session: Welcome | undefined;
  /** As told by the last welcome. */
  #spread = 1;
  /** Without a connection: holdings are lost then. */
  #believedUntil = NEVER;
  #failures = 0;
  #retryAfterMs: number | undefined;
  /** What the server said before it closed. */
  #complaint: string | undefined;

  /** `random`: from 0 up to, not including, 1, unless the settings have another. */
  constructor(settings: SessionSettings, random: () => number, addition?: Addition<AdditionCalls>) {
    this.#settings = settings;
    this.#reconnect = settings.reconnect ?? {};
    this.#random = random;
    this.#claims = new ClaimTable(this.#heartbeat, (output) => this.#outputs.push(output), addition);
  }

  /** Must be set before a session with a grace connects. */
  set reconcile(reconcile: Reconcile) {
    this.#claims.reconcile = reconcile;
  }

  /** The next thing to do. */
  take(): Output<Call> | undefined {
    return this.#outputs.shift();
  }

  /** Call `tick` then. */
  get wakeAt(): number {
    return Math.min(this.#dueAt(), this.#claims.dueAt);
  }

  /** Whether anything is held: then a suspend of the machine must not go unnoticed. */
  get holding(): boolean {
    return this.#claims.holding;
  }

  get status(): ConnectionStatus {
    return this.#status;
  }

  /** The public id of the session, if there is one. */
  get session(): string | undefined {
    return this.#session?.session;
  }

  /** Who is behind it. */
  get user(): string | undefined {
    return this.#session?.user ?? this.#settings.user;
  }

  /** Over how many parts the keys of the space are spread, once the server has said. */
  get spread(): number {
    return this.#spread;
  }

  tick(now: number): void {
    this.#claims.setTime(now);
    if (now >= this.#dueAt()) this.#serve(now);
    this.#claims.serve();
  }

  // The connection.

  start(now: number): void {
    this.#stateUntil = now;
    this.tick(now);
  }

  /** The socket is open. `auth`: the credential for this attempt. */
  opened(auth: string | undefined, now: number): void {
    this.tick(now);
    if (this.#state !== "connecting") return;
    const { space, grace = 0, meta, user } = this.#settings;
    const resume = this.#session && { session: this.#session.session, secret: this.#session.secret };
    this.#send({ t: "hello", v: PROTOCOL_VERSION, space, auth, grace, meta, user, resume });
    this.#state = "greeting";
    this.#helloAt = now;
    this.#complaint = undefined;
    this.#heartbeat.connected();
  }

  received(text: string, now: number): void {
    this.tick(now);
    if (this.#state !== "greeting" && this.#state !== "open") return;
    if (text === PING) {
      this.#outputs.push({ kind: "send", text: PONG });
      this.#heartbeat.ponged(now);
    } else if (text === ACK) {
      this.#heartbeat.acked();
    } else {
      this.#message(text, now);
    }
  }

  /** The socket is closed, or could not be opened. */
  closed(code: number | undefined, now: number): void {
    this.tick(now);
    if (this.#state === "idle" || this.#state === "closed") return;
    if (this.#state === "open") this.#heartbeat.closed(now);
    this.#down(code, now);
  }

  /** For good. What is held is let go, what waits is refused. */
  close(now: number): void {
    this.tick(now);
    if (this.#state === "closed") return;
    this.#claims.loseAll("closed", true);
    if (this.#state === "open") this.#send({ t: "bye" });
    this.#outputs.push({ kind: "disconnect", code: CLOSE_NORMAL });
    this.#end(new SessionClosedError());
  }

  /** The page goes away: all is let go as with `close`, and nothing more is done until `wake`. */
  leave(now: number): void {
    this.tick(now);
    if (this.#state === "closed") return;
    const isGreeted = this.#state === "greeting" || this.#state === "open";
    this.#session = undefined;
    this.#believedUntil = NEVER;
    const away = new UnavailableError("away", "the page went away");
    this.#claims.sessionEnded(this.#settings.requeue === true ? undefined : away);
    if (isGreeted) this.#send({ t: "bye" });
    this.#outputs.push({ kind: "disconnect", code: CLOSE_NORMAL });
    this.#state = "idle";
    this.#stateUntil = NEVER;
    if (this.#status === "connected") this.#setStatus("reconnecting");
  }

  /** Something may have changed unseen: whatever is over is lost now, and the connection is made, or has to prove itself. */
  wake(now: number): void {
    this.tick(now);
    if (this.#state === "open") {
      this.#probe(now);
      return;
    }
    // An attempt that is under way may have begun while there was no network: when it fails, the next one comes soon.
    this.#failures = 0;
    if (this.#state === "idle") this.start(now);
  }

  // What callers want.

  /** All that can be asked in a session, as of now. */
  claims(now: number): Pick<ClaimTable<Call>, ClaimCall> {
    this.tick(now);
    return this.#claims;
  }

  /** About a watch. Without a connection nothing is sent: the next one asks anew. */
  watch(frame: WatchAsk): void {
    if (this.#state === "open") this.#send(frame);
  }

  // How it works.

  #dueAt(): number {
    if (this.#state === "closed") return NEVER;
    if (this.#state === "open") return Math.min(this.#heartbeat.deadAt, this.#heartbeat.provenBy);
    return Math.min(this.#stateUntil, this.#believedUntil);
  }

  #serve(now: number): void {
    if (now >= this.#believedUntil) {
      this.#believedUntil = NEVER;
      this.#claims.loseAll("dropped");
    }
    if (this.#state === "idle") {
      if (now < this.#stateUntil) return;
      this.#state = "connecting";
      this.#stateUntil = now + (this.#reconnect.timeoutMs ?? CONNECT_TIMEOUT_MS);
      this.#outputs.push({ kind: "connect" });
    } else if (this.#state === "open" && now < this.#heartbeat.deadAt && this.#heartbeat.isLate(now)) {
      this.#probe(now);
    } else if (now >= this.#dueAt()) {
      this.#giveUp(now);
    }
  }

  /** An ack that nobody was asked for costs the server nothing, and is evidence like any other. */
  #probe(now: number): void {
    if (this.#heartbeat.probed(now)) this.#outputs.push({ kind: "send", text: PONG });
  }

  /** The connection is dead, whatever the socket says. */
  #giveUp(now: number): void {
    this.#down(undefined, now);
    this.#outputs.push({ kind: "disconnect" });
  }

  /** One frame, or a batch of them. */
  #message(text: string, now: number): void {
    let message: ServerFrame | ServerFrame[];
    try {
      message = JSON.parse(text) as typeof message;
    } catch (cause) {
      this.#trouble(new UnavailableError("internal", "the frame is not JSON", { cause }));
      this.#giveUp(now);
      return;
    }
    for (const frame of Array.isArray(message) ? message : [message]) this.#frame(frame, now);
  }

  #frame(frame: ServerFrame, now: number): void {
    if (this.#state !== "greeting" && this.#state !== "open") return;
    if (frame.t === "welcome") this.#welcomed(frame, now);
    else if (frame.t === "draining") this.#retryAfterMs = frame.retry_after_ms;
    else if (frame.t === "error") {
      this.#complaint = frame.detail;
      this.#trouble(errorOf(frame, ""));
    } else if (this.#state === "open" && typeof frame.id === "string") {
      if (frame.id.startsWith(WATCH_MARK)) this.#outputs.push({ kind: "watched", told: frame as WatchTold });
      else this.#claims.received(frame);
    }
    this.tick(now);
  }

  #welcomed(welcome: Welcome, now: number): void {
    if (this.#state !== "greeting") return;
    if (this.#session !== undefined && !welcome.resumed) this.#claims.sessionEnded();
    this.#session = welcome;
    this.#spread = welcome.spread ?? 1;
    this.#state = "open";
    this.#openedAt = now;
    this.#believedUntil = NEVER;
    this.#heartbeat.welcomed(this.#helloAt, welcome.deadline, welcome.grace);
    this.#setStatus("connected");
    this.#claims.connected(welcome.session, this.#helloAt, welcome.resumed ? (welcome.claims ?? []) : undefined);
  }

  /** The connection is lost, or could not be made. */
  #down(code: number | undefined, now: number): void {
    if (code !== undefined && FATAL_CLOSE_CODES.has(code)) {
      this.#claims.loseAll("dropped", true);
      this.#end(new SessionClosedError(code, this.#complaint));
      return;
    }
    const ended = code === CLOSE_SESSION_ENDED;
    const refused = ended && this.#state === "greeting" && this.#session !== undefined;
    if (this.#state === "open" && now - this.#openedAt >= (this.#reconnect.minUptimeMs ?? MIN_UPTIME_MS))
      this.#failures = 0;
    this.#state = "idle";
    if (this.#session === undefined || ended || this.#heartbeat.graceMs === 0) {
      this.#session = undefined;
      this.#believedUntil = NEVER;
      this.#claims.sessionEnded();
    } else {
      this.#believedUntil = this.#heartbeat.suspendedUntil;
      this.#claims.suspended();
    }
    // A refused resume costs no waiting: the next hello is another one.
    this.#stateUntil = now + (refused ? 0 : this.#delayMs(code));
    if (this.#status === "connected") this.#setStatus("reconnecting");
    if (now >= this.#believedUntil) this.#serve(now);
  }

  #delayMs(code: number | undefined): number {
    const reconnect = this.#reconnect;
    const random = (reconnect.random ?? this.#random)();
    const toldMs = this.#retryAfterMs;
    this.#retryAfterMs = undefined;
    this.#failures += 1;
    if (toldMs !== undefined) return toldMs;
    if (code !== undefined && LATER_CODES.has(code)) return laterMs(random, reconnect);
    return backoffMs(this.#failures - 1, random, reconnect);
  }

  #end(error: SessionClosedError): void {
    this.#state = "closed";
    this.#session = undefined;
    this.#claims.close(error);
    this.#setStatus("closed", error);
  }

  #setStatus(status: ConnectionStatus, error?: LatchkeyError): void {
    this.#status = status;
    this.#outputs.push({ kind: "status", status, ...(error && { error }) });
  }

  #trouble(error: LatchkeyError): void {
    this.#outputs.push({ kind: "trouble", error, where: "session" });
  }

  #send(frame: ClientFrame): void {
    this.#outputs.push({ kind: "send", text: JSON.stringify(frame) });
  }
}
