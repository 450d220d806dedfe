/** One socket, from its first frame to its end. Once it has said hello it speaks for one session. */

import { CLOSE, type CloseCode } from "../protocol/close.ts";
import type { ClientFrame, HelloFrame } from "../protocol/frames.ts";
import { FRAME_BYTES_MAX } from "../protocol/limits.ts";
import { ACK, PING, PONG } from "../protocol/server-frames.ts";
import type { Shown } from "./auth.ts";
import { type BadFrame, isFrameTooBig, parseFrames } from "./codec.ts";
import { Heartbeat } from "./heartbeat.ts";
import { type Ending, type Introduced, judgeHello } from "./hello.ts";
import type { ConnectionMemory } from "./memory.ts";
import { Outlet } from "./outlet.ts";
import type { HostParts } from "./parts.ts";
import type { Socket } from "./ports.ts";
import { Bucket } from "./rate.ts";
import { Session, type SessionFacts } from "./session.ts";
import type { SessionLine } from "./sessions.ts";
import type { Switchboard } from "./switchboard.ts";
import type { Timed } from "./timers.ts";
import { DETAILS, refusedFrame, type Told } from "./wire.ts";

/** `entering`: hello was said and is not answered yet. `leaving`: bye was said. */
type Phase = "connecting" | "entering" | "open" | "leaving" | "closed";

export interface ConnectionOptions {
  readonly shown: Shown;
  /** The space that the URL named. */
  readonly space?: string | undefined;
  /** False for sockets within the process: they cannot vanish without a close. */
  readonly hasHeartbeat: boolean;
  /** Of a program that runs in this process: how fast it asks is its own affair. */
  readonly isOwn?: boolean;
  readonly onClosed: (connection: Connection) => void;
  /** Of a connection that goes on where an earlier life of this program left it. */
  readonly memory?: ConnectionMemory;
}

export class Connection implements SessionLine, Timed {
  deadline: number = Number.POSITIVE_INFINITY;
  slot = -1;
  readonly order: number;
  readonly socket: Socket;
  readonly #parts: HostParts;
  readonly #options: ConnectionOptions;
  readonly #rate: Bucket | undefined;
  readonly outlet: Outlet;
  #phase: Phase = "connecting";
  #session: Session | undefined;
  readonly #heartbeat: Heartbeat;
  /** Frames that came before the welcome. */
  #early: (ClientFrame | BadFrame)[] = [];
  #earlyChars = 0;
  readonly #helloBy: number;

  constructor(socket: Socket, parts: HostParts, options: ConnectionOptions) {
    const now = parts.clock.now();
    this.socket = socket;
    this.#parts = parts;
    this.#options = options;
    this.#rate = options.isOwn === true ? undefined : new Bucket(parts.settings.ratePerSecond, now);
    this.outlet = new Outlet(socket, parts, (reason) => this.#end(CLOSE.overloaded, reason));
    this.#heartbeat = new Heartbeat(socket, parts, now);
    this.order = parts.timers.nextOrder();
    this.#helloBy = options.memory?.helloBy ?? now + parts.settings.helloTimeoutMs;
    if (options.memory?.session !== undefined) {
      this.#goOn(options.memory, options.memory.session);
    } else {
      parts.timers.set(this, this.#helloBy);
      this.remember();
    }
  }

  get isClosed(): boolean {
    return this.#phase === "closed";
  }

  get secret(): string {
    return this.#session?.facts.secret ?? "";
  }

  message(text: string): void {
    if (this.#phase === "closed") return;
    const now = this.#parts.clock.now();
    // The alarm may be late, but not even then does a frame bring back a session whose time was over.
    if (this.#heartbeat.isSilent(now)) {
      this.#endSilent();
      return;
    }
    if (this.#heartbeat.heard(now)) this.remember();
    if (text === PONG && this.#phase !== "connecting") {
      if (this.#isWithinRate(now) && this.#mayVouch(now)) this.outlet.sendBare(ACK);
    } else if (isFrameTooBig(text)) {
      this.#fail({
        close: CLOSE.frameTooBig,
        code: "too_large",
        detail: `a frame has at most ${FRAME_BYTES_MAX} bytes`,
      });
    } else {
      this.#frames(parseFrames(text), text.length, now);
    }
  }

  binary(): void {
    this.#fail({ close: CLOSE.badFrame, code: "bad_request", detail: "frames are text" });
  }

  /** The runtime says that the socket is closed. */
  closed(): void {
    this.#end(undefined, "");
  }

  close(code: CloseCode, reason: string): void {
    this.#end(code, reason);
  }

  drain(retryAfterMs: number): void {
    this.outlet.send({ t: "draining", retry_after_ms: retryAfterMs });
    this.#end(CLOSE.draining, "draining");
  }

  /** Hello did not come in time, a ping is due, or nothing was heard for too long. */
  due(now: number): void {
    if (this.#phase === "connecting") {
      this.#end(CLOSE.helloTimeout, "no hello in time");
      return;
    }
    if (this.#heartbeat.isSilent(now)) {
      this.#endSilent();
      return;
    }
    if (now >= this.#heartbeat.pingAt) {
      this.#heartbeat.pinged(now);
      this.outlet.sendBare(PING);
      this.remember();
    }
    this.#watch();
  }

  opened(effect: Parameters<SessionLine["opened"]>[0]): void {
    if (this.#session === undefined) return;
    this.outlet.send(this.#session.welcome(effect));
    this.#heartbeat.begin(this.#parts.clock.now(), this.#options.hasHeartbeat);
    this.#watch();
    // What arrives while these are served is put behind them.
    for (const frame of this.#early) {
      if (this.#phase === "entering") this.#serve(frame);
    }
    this.#early = [];
    if (this.#phase === "entering") this.#phase = "open";
    this.remember();
  }

  refused(effect: Parameters<SessionLine["refused"]>[0]): void {
    if (effect.code === "limit") this.#fail({ close: CLOSE.tooMany, code: "limit", detail: "too many sessions" });
    else this.#refuseResume();
  }

  tell(effect: Told): void {
    // Whoever has said good-bye is told only that the session is over.
    if (this.#phase === "leaving") return;
    const frame = this.#session?.tell(effect);
    if (frame !== undefined) this.outlet.send(frame);
  }

  ended(effect: Parameters<SessionLine["ended"]>[0]): void {
    if (effect.reason === "bye") {
      this.#end(CLOSE.normal, "bye");
      return;
    }
    const { message } = effect;
    const detail = `the session was ${effect.reason}${message === undefined ? "" : `: ${message}`}`;
    this.#fail({ close: CLOSE.sessionEnded, code: "session_ended", detail });
  }

  takenOver(): void {
    this.#end(CLOSE.takenOver, "taken over by another connection");
  }

  stopped(): void {
    this.#fail({ close: CLOSE.internal, code: "unavailable", detail: "the store cannot be reached" });
  }

  /** `chars`: the size of the message that they came in. */
  #frames(frames: readonly (ClientFrame | BadFrame)[], chars: number, now: number): void {
    if (this.#phase === "entering") this.#earlyChars += chars;
    for (const frame of frames) {
      if (this.#phase === "closed" || !this.#isWithinRate(now)) return;
      this.#frame(frame);
      if (frames.length > 1) this.#parts.departures.next(this.outlet);
    }
  }

  #isWithinRate(now: number): boolean {
    this.#parts.metrics.frameIn();
    if (this.#rate?.take(now) !== false) return true;
    this.#fail({ close: CLOSE.tooMany, code: "limit", detail: "too many frames a second" });
    return false;
  }

  /**
   * From an ack a client concludes that it holds what it holds for a whole deadline more. Where this process is only lent its part in the
   * space it says so only if that is so even when it falls silent now.
   */
  #mayVouch(now: number): boolean {
    const until = this.#session?.board.port.vouchedUntil;
    return until === undefined || now + this.#parts.settings.deadlineMs <= until;
  }

  #frame(frame: ClientFrame | BadFrame): void {
    switch (this.#phase) {
      case "connecting":
        this.#introduce(frame);
        return;
      case "entering":
        // Nobody is served before the hello is answered: a resume may have shown a wrong secret.
        if (this.#earlyChars <= FRAME_BYTES_MAX) this.#early.push(frame);
        else
          this.#fail({ close: CLOSE.frameTooBig, code: "too_large", detail: "too much was sent before the welcome" });
        return;
      case "open":
        this.#serve(frame);
        return;
      case "leaving":
      case "closed":
    }
  }

  #introduce(frame: ClientFrame | BadFrame): void {
    if (frame.t === undefined) {
      const close = frame.code === "protocol_version" ? CLOSE.protocolVersion : CLOSE.badFrame;
      this.#fail({ close, code: frame.code, detail: frame.detail });
      return;
    }
    if (frame.t !== "hello") {
      this.#fail({ close: CLOSE.badFrame, code: "bad_request", detail: "the first frame must be hello" });
      return;
    }
    const judged = judgeHello(frame, this.#options.shown, this.#parts.keyring, this.#options.space);
    if (judged.close !== undefined) {
      this.#fail(judged);
      return;
    }
    const board = this.#parts.board(judged.space);
    if (board === undefined) {
      this.#fail({ close: CLOSE.tooMany, code: "limit", detail: "too many spaces are in use" });
      return;
    }
    this.#enter(frame, judged, board);
  }

  #enter(hello: HelloFrame, { credential, space, user }: Introduced, board: Switchboard): void {
    const { mint, settings, timers } = this.#parts;
    this.#phase = "entering";
    timers.set(this, Number.POSITIVE_INFINITY);
    const { session: id, secret } = hello.resume ?? { session: mint.token(), secret: mint.token() };
    const graceMs = Math.min(hello.grace ?? 0, settings.graceMaxMs);
    const { hasHeartbeat } = this.#options;
    this.#session = new Session({ id, secret, space, credential, hasHeartbeat }, graceMs, board, this.#parts, this);
    if (hello.resume === undefined) {
      const meta = hello.meta === undefined ? undefined : { meta: JSON.stringify(hello.meta) };
      const userMember = user === undefined ? undefined : { user };
      board.sessions.open(this, { kind: "open", session: id, secret, graceMs, ...meta, ...userMember });
    } else if (!board.sessions.resume(this, { kind: "resume", session: id, secret })) {
      this.#refuseResume();
    }
  }

  #serve(frame: ClientFrame | BadFrame): void {
    if (frame.t === undefined) {
      const { id, code, detail } = frame;
      this.outlet.send(id === undefined ? { t: "error", code, detail } : refusedFrame(id, code, detail));
    } else if (frame.t === "hello") {
      this.outlet.send({ t: "error", code: "bad_request", detail: "hello was said before" });
    } else if (frame.t === "bye") {
      this.#phase = "leaving";
      this.#session?.bye();
    } else {
      const answer = this.#session?.ask(frame);
      if (answer !== undefined) this.outlet.send(answer);
    }
  }

  #refuseResume(): void {
    this.#fail({ close: CLOSE.sessionEnded, code: "session_ended", detail: DETAILS.session_ended });
  }

  /** Ends for a reason that the client should know. */
  #fail({ close, code, detail }: Ending): void {
    this.outlet.send({ t: "error", code, detail });
    this.#end(close, code);
  }

  /**
   * The session is dropped here, without waiting for the runtime to tell of the close: for a peer that vanished that
   * may never come. Undefined: the socket is closed already.
   */
  #end(code: CloseCode | undefined, reason: string): void {
    if (code !== undefined) this.outlet.depart();
    if (this.#phase === "closed") return;
    this.#phase = "closed";
    this.outlet.shut();
    this.#parts.timers.set(this, Number.POSITIVE_INFINITY);
    this.#options.onClosed(this);
    this.socket.remember?.(undefined);
    if (code !== undefined) {
      this.#parts.metrics.count("latchkey_sockets_closed_total", code);
      this.socket.close(code, reason);
    }
    this.#session?.over();
    this.#session?.board.sessions.left(this, this.#session.facts.id);
  }

  #endSilent(): void {
    this.#parts.metrics.count("latchkey_heartbeats_missed_total");
    // A session with a grace is only suspended: after this code its client may resume it.
    const hasGrace = (this.#session?.graceMs ?? 0) > 0;
    this.#end(hasGrace ? CLOSE.helloTimeout : CLOSE.sessionEnded, "silent for too long");
  }

  #watch(): void {
    if (this.#phase !== "closed") this.#parts.timers.set(this, this.#heartbeat.dueAt());
  }

  #goOn(memory: ConnectionMemory, facts: SessionFacts): void {
    const board = this.#parts.board(facts.space);
    if (board === undefined) throw new Error("a connection goes on in a space that cannot be opened");
    this.#session = new Session(facts, memory.graceMs, board, this.#parts, this);
    this.#phase = "open";
    this.#heartbeat.goOn(memory, facts.hasHeartbeat);
    board.sessions.seat(this, facts.id);
    this.#session.goOn(memory.watches ?? []);
    this.#watch();
  }

  /** For what must outlive the program's memory. */
  remember(): void {
    if (this.socket.remember === undefined || this.#phase === "closed") return;
    const { shown, space } = this.#options;
    const session = this.#phase === "open" ? this.#session : undefined;
    this.socket.remember({
      shown,
      space,
      helloBy: this.#helloBy,
      session: session?.facts,
      graceMs: session?.graceMs ?? 0,
      watches: session?.watched(),
      ...this.#heartbeat.remembered(),
    });
  }
}
