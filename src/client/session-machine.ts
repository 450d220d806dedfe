/**
 * A session as seen by a client, without input or output: time, texts and closes come in as steps, and what is to be done is done by
 * its world when the step is over. Each step first serves what is over by the clock, so a lock whose time has passed is lost
 * before anything else is looked at.
 */

import {
  CLOSE_INTERNAL,
  CLOSE_NORMAL,
  CLOSE_OVERLOADED,
  CLOSE_TOO_MANY,
  FATAL_CLOSE_CODES,
} from "../protocol/close.ts";
import type { ClientFrame } from "../protocol/frames.ts";
import { PROTOCOL_VERSION } from "../protocol/limits.ts";
import type { ServerFrame, Welcome } from "../protocol/server-frames.ts";
import { ACK, PING, PONG } from "../protocol/server-frames.ts";
import type { Addition } from "./addition.ts";
import { backoffMs } from "./backoff.ts";
import { received } from "./claim-answers.ts";
import { type ClaimBook, fail } from "./claim-book.ts";
import { endSession, loseAll, sendAll, serveDue, suspend } from "./claim-session.ts";
import { NEVER } from "./clock.ts";
import { errorOf, type LatchkeyError, SessionClosedError, UnavailableError } from "./errors.ts";
import { Heartbeat } from "./heartbeat.ts";
import type * as Resume from "./resume.ts";
import type { ConnectionStatus, SessionSettings, World } from "./session-types.ts";
import type { Watches } from "./watches.ts";

/** A connection counts as a success after this long, ms: one that opens and closes at once is a failure. */
const MIN_UPTIME_MS = 5_000;
/** An attempt to connect, from the credential to the welcome, may take this long, ms. */
const CONNECT_TIMEOUT_MS = 10_000;

/** `idle`: waits for the next attempt. `greeting`: hello is sent. */
type State = "idle" | "connecting" | "greeting" | "open" | "closed";

/** The server is there, but asks to come back later. */
const LATER_CODES: ReadonlySet<number | undefined> = new Set([CLOSE_OVERLOADED, CLOSE_TOO_MANY, CLOSE_INTERNAL]);

export class SessionMachine implements ClaimBook {
  nowMs = 0;
  dueAt = NEVER;
  serial = 0;
  session: string | undefined;
  ended: LatchkeyError | undefined;
  readonly requests: ClaimBook["requests"] = new Map();
  readonly holds: ClaimBook["holds"] = new Map();
  readonly heartbeat: Heartbeat = new Heartbeat();
  declare readonly added: Addition | undefined;
  watches: Watches | undefined;
  /** How the server welcomed the session, if there is one. Kept over a loss of the connection, to resume with. */
  welcomeTold: Welcome | undefined;
  /** Must be set before a session with a grace connects. */
  resuming: typeof Resume | undefined;
  /** Over how many parts the keys of the space are spread, as told by the last welcome. */
  spread = 1;
  readonly #world: World;
  readonly #settings: SessionSettings;
  /** What the world does when the step is over. */
  readonly #acts: (() => void)[] = [];
  #state: State = "idle";
  /** Not `open`: when the next attempt begins, or the present one has failed. */
  #stateUntil = NEVER;
  /** When hello was sent, and when one was welcomed last. */
  #helloAt = 0;
  #openedAt: number | undefined;
  /** Without a connection: holdings are lost then. */
  #believedUntil = NEVER;
  #failures = 0;
  #retryAfterMs: number | undefined;
  /** What the server said before it closed. */
  #complaint: string | undefined;

  constructor(settings: SessionSettings, world: World, added?: Addition) {
    this.#settings = settings;
    this.#world = world;
    this.added = added;
  }

  /** One input, after what is over by the clock; then the world does what comes of it, which may be the cause of another step. */
  step<T>(now: number, input: (machine: SessionMachine) => T): T {
    this.nowMs = now;
    this.#serve();
    const result = input(this);
    this.#serve();
    for (let act = this.#acts.shift(); act !== undefined; act = this.#acts.shift()) act();
    return result;
  }

  /** There must be a step then. */
  get wakeAt(): number {
    return Math.min(this.#connectionDueAt, this.dueAt);
  }

  get status(): ConnectionStatus {
    if (this.#state === "closed") return "closed";
    if (this.#state === "open") return "connected";
    return this.#openedAt === undefined ? "connecting" : "reconnecting";
  }

  afterStep(act: () => void): void {
    this.#acts.push(act);
  }

  send(text: string): void {
    this.afterStep(() => this.#world.socket.send(text));
  }

  // Inputs.

  /** The socket is open. `auth`: the credential for this attempt. */
  opened(auth: string | undefined): void {
    if (this.#state !== "connecting") return;
    const { space, grace, meta, user } = this.#settings;
    const resume = this.resuming?.resumable(this.welcomeTold);
    const hello: ClientFrame = { t: "hello", v: PROTOCOL_VERSION, space, auth, grace, meta, user, resume };
    this.send(JSON.stringify(hello));
    this.#state = "greeting";
    this.#helloAt = this.nowMs;
    this.#complaint = undefined;
    this.heartbeat.reconnected();
  }

  received(text: string): void {
    if (!this.#isGreeted) return;
    if (text === PING) this.#pong();
    else if (text === ACK) this.heartbeat.acked();
    else this.#message(text);
  }

  /** The socket is closed, or could not be opened. */
  closed(code: number | undefined): void {
    if (this.#state === "idle" || this.#state === "closed") return;
    this.#down(code);
  }

  /** For good. What is held is let go, what waits is refused. */
  close(): void {
    if (this.#state === "closed") return;
    loseAll(this, "closed", true);
    this.#sayBye();
    this.#end(new SessionClosedError());
  }

  /** The page goes away: all is let go as with `close`, and nothing more is done until `wake`. */
  leave(): void {
    if (this.#state === "closed") return;
    const away = new UnavailableError("away", "the page went away");
    this.#sessionEnded(this.#settings.requeue ? undefined : away);
    this.#sayBye();
    this.#enter("idle");
  }

  /** Something may have changed unseen: whatever is over is lost by now, and the connection is made, or has to prove itself. */
  wake(): void {
    if (this.#state === "open") return this.#probe();
    // An attempt that is under way may have begun while there was no network: when it fails, the next one comes soon.
    this.#failures = 0;
    if (this.#state === "idle") this.#stateUntil = this.nowMs;
  }

  // How it works.

  get #isGreeted(): boolean {
    return this.#state === "greeting" || this.#state === "open";
  }

  get #connectionDueAt(): number {
    if (this.#state === "open") return Math.min(this.heartbeat.deadAt, this.heartbeat.provenBy);
    return Math.min(this.#stateUntil, this.#believedUntil);
  }

  /** What is over by the clock. */
  #serve(): void {
    const { nowMs: now } = this;
    if (now >= this.#believedUntil) {
      this.#believedUntil = NEVER;
      loseAll(this, "dropped");
    }
    if (now >= this.#connectionDueAt) {
      if (this.#state === "idle") {
        this.#enter(
          "connecting",
          now + (this.#settings.reconnect?.timeoutMs ?? CONNECT_TIMEOUT_MS),
          this.#believedUntil,
        );
        this.afterStep(() => this.#world.socket.open());
      } else if (this.#state === "open" && now < this.heartbeat.deadAt && this.heartbeat.isLate(now)) this.#probe();
      else this.#giveUp();
    }
    serveDue(this);
  }

  /** An ack that nobody was asked for costs the server nothing, and is evidence like any other. */
  #probe(): void {
    if (this.heartbeat.probed(this.nowMs)) this.#pong();
  }

  #pong(): void {
    this.send(PONG);
    this.heartbeat.ponged(this.nowMs);
  }

  /** The connection is dead, whatever the socket says. */
  #giveUp(): void {
    this.#down(undefined);
    this.#hangUp();
  }

  /** One frame, or a batch of them. */
  #message(text: string): void {
    let frames: ServerFrame[];
    try {
      frames = [JSON.parse(text)].flat();
    } catch (cause) {
      this.#trouble(cause);
      return this.#giveUp();
    }
    for (const frame of frames) {
      if (this.#isGreeted) this.#frame(frame);
      this.#serve();
    }
  }

  #frame(frame: ServerFrame): void {
    if (frame.t === "welcome") this.#welcomed(frame);
    else if (frame.t === "draining") this.#retryAfterMs = frame.retry_after_ms;
    else if (frame.t === "error") {
      this.#complaint = frame.detail;
      this.#trouble(errorOf(frame));
    } else if (this.#state === "open") received(this, frame);
  }

  #welcomed(welcome: Welcome): void {
    if (this.#state !== "greeting") return;
    const { session, resumed, claims, deadline, spread = 1 } = welcome;
    if (!resumed) endSession(this);
    this.welcomeTold = welcome;
    this.spread = spread;
    this.#openedAt = this.nowMs;
    this.heartbeat.welcomed(this.#helloAt, deadline);
    this.#enter("open");
    this.session = session;
    if (resumed) this.resuming?.reconcile(this, this.#helloAt, claims);
    sendAll(this);
  }

  /** The connection is lost, or could not be made. */
  #down(code: number | undefined): void {
    if (FATAL_CLOSE_CODES.has(code as number)) {
      loseAll(this, "dropped", true);
      return this.#end(new SessionClosedError(code, this.#complaint));
    }
    const { nowMs: now } = this;
    const wasOpen = this.#state === "open";
    if (wasOpen && now - (this.#openedAt as number) >= MIN_UPTIME_MS) this.#failures = 0;
    const suspension = this.resuming?.suspensionOf(now, this.heartbeat, this.welcomeTold, code, wasOpen);
    if (suspension?.believedUntil) suspend(this);
    else this.#sessionEnded();
    this.#enter("idle", now + (suspension?.delayMs ?? this.#delayMs(code)), suspension?.believedUntil);
  }

  #delayMs(code: number | undefined): number {
    const toldMs = this.#retryAfterMs;
    this.#retryAfterMs = undefined;
    const random = this.#world.ports.random();
    return toldMs ?? backoffMs(this.#failures++, random, LATER_CODES.has(code), this.#settings.reconnect);
  }

  #sessionEnded(error?: LatchkeyError): void {
    this.welcomeTold = undefined;
    endSession(this, error);
  }

  #end(error: SessionClosedError): void {
    this.welcomeTold = undefined;
    this.ended = error;
    for (const entry of this.requests.values()) fail(this, entry, error);
    this.dueAt = NEVER;
    this.#enter("closed", NEVER, NEVER, error);
  }

  #enter(state: State, until: number = NEVER, believedUntil: number = NEVER, error?: LatchkeyError): void {
    const before = this.status;
    this.#state = state;
    this.#stateUntil = until;
    this.#believedUntil = believedUntil;
    const { status } = this;
    if (status !== before) this.afterStep(() => this.#world.changed(status, error));
  }

  #trouble(error: unknown): void {
    this.afterStep(() => this.#world.onError(error, { where: "session" }));
  }

  #sayBye(): void {
    if (this.#isGreeted) this.send('{"t":"bye"}');
    this.#hangUp(CLOSE_NORMAL);
  }

  #hangUp(code?: number): void {
    this.afterStep(() => this.#world.socket.hangUp(code));
  }
}
