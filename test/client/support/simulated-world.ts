// What is loaded later is there at once in virtual time.
import "../../../src/client/resume.ts";
import { type Client, connect } from "../../../src/client/index.ts";
import { CHECK_MS, type Ports } from "../../../src/client/clock.ts";
import type { WebSocketLike } from "../../../src/client/session-socket.ts";
import { type Effect, Engine, Outbox } from "../../../src/core/index.ts";
import type { ClientFrame, HelloFrame } from "../../../src/protocol/frames.ts";
import { VirtualTime } from "./virtual-time.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly graceMs: number;
  /** How long a frame travels, ms. */
  readonly travelMs: readonly [number, number];
}

const PING_MS = 1_000;
const DEADLINE_MS = 3_000;

/** Numbers from a seed (mulberry32), each from 0 up to, not including, 1. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * The real engine behind a server with heartbeat, grace and resume, and clients behind a network that delays, drops and
 * closes, all in virtual time. The clients' clocks have other origins than the server's, and run a little fast or slow.
 */
export class World {
  readonly time = new VirtualTime();
  readonly random: () => number;
  /** Tokens in whose locks some client believes now. */
  readonly #believed = new Map<string, Machine>();
  /** Tokens that hold, as the engine knows. */
  readonly #live = new Set<string>();
  grants = 0;
  /** What must not have happened. */
  readonly wrong: string[] = [];
  readonly engine = new Engine();
  readonly links = new Set<Link>();
  readonly options: WorldOptions;
  readonly machines: readonly Machine[];
  readonly #outbox = new Outbox();
  readonly #lines = new Map<string, Link>();
  #serial = 0;

  constructor(options: WorldOptions) {
    this.options = options;
    this.random = seeded(options.seed);
    this.machines = [new Machine(this), new Machine(this), new Machine(this)];
  }

  between(min: number, max: number): number {
    return min + this.random() * (max - min);
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.random() * values.length)] as T;
  }

  /** A client works under this lock from now on. */
  believe(token: string, machine: Machine): void {
    this.grants += 1;
    this.#believed.set(token, machine);
    if (!this.#live.has(token)) this.wrong.push(`${token} is believed at ${this.time.monoMs}, but over`);
  }

  /** It does not any more. A machine that slept must have noticed by itself when it looked at the lock's signal. */
  disbelieve(token: string, noticed: boolean): void {
    if (this.#believed.delete(token) && !noticed && !this.#live.has(token)) {
      this.wrong.push(`${token} is over, and the machine that slept has not noticed`);
    }
  }

  /** Something happens to some connection. */
  fault(): void {
    const link = this.pick([...this.links]);
    if (link === undefined) return;
    const kind = this.random();
    // While it sleeps the client closes nothing and answers nothing.
    if (kind < 0.2) return this.pick(this.machines).sleep(this.between(500, 2 * DEADLINE_MS + this.options.graceMs));
    // A close that the server alone hears of is no danger where the grace is longer than the deadline; without a grace
    // no client could know in time, and only the fence protects.
    if (kind < 0.5) link.break(this.options.graceMs >= DEADLINE_MS);
    else link.cut(this.pick(["up", "down", "both"]), this.options.graceMs >= DEADLINE_MS && this.random() < 0.5);
  }

  step(command: Parameters<Engine["step"]>[0]): void {
    this.#outbox.clear();
    this.engine.step(command, this.time.monoMs, this.#outbox);
    for (const effect of this.#outbox.effects.slice(0, this.#outbox.effectCount)) this.#effect(effect);
    this.#wake();
  }

  mint(): string {
    return `minted-${++this.#serial}`;
  }

  sit(session: string, link: Link): void {
    const before = this.#lines.get(session);
    this.#lines.set(session, link);
    if (before !== undefined && before !== link) before.end(4409);
  }

  /** Whether this link speaks for the session. */
  leave(session: string, link: Link): void {
    if (this.#lines.get(session) !== link) return;
    this.#lines.delete(session);
    this.step({ kind: "drop", session });
  }

  #wake(): void {
    const at = this.engine.nextDeadline();
    if (at === Number.POSITIVE_INFINITY) return;
    this.time.timer(at - this.time.monoMs, () => {
      if (this.engine.nextDeadline() <= this.time.monoMs) this.step({ kind: "tick" });
    });
  }

  #effect(effect: Effect): void {
    if (effect.kind === "granted") this.#live.add(effect.token);
    if (effect.kind === "ended" && effect.held) {
      const token = `token ${effect.to} ${effect.request}`;
      this.#live.delete(token);
      // Who sleeps does nothing, and who has just woken is given a second to notice, unless it looks at the signal.
      const believer = this.#believed.get(token);
      if (believer !== undefined && !believer.isDrowsy) {
        this.wrong.push(`${token} ${effect.outcome} at ${this.time.monoMs}, still believed`);
      }
    }
    this.#lines.get(effect.to)?.tell(effect);
  }
}

/** A computer with a client. Its clocks have another origin than the server's, run a little fast or slow, and it may sleep. */
export class Machine implements Ports {
  readonly client: Client;
  readonly random: () => number;
  readonly #world: World;
  readonly #rate: number;
  readonly #origin: number;
  #sleptMs = 0;
  #asleepUntil = 0;

  constructor(world: World) {
    this.#world = world;
    this.random = world.random;
    this.#rate = world.between(0.999, 1.001);
    this.#origin = world.between(0, 1_000_000);
    const wake = (run: () => void): void => this.#awake(run);
    const WebSocket = class extends Link {
      constructor() {
        super(world, wake);
      }
    };
    const reconnect = { baseMs: 50, capMs: 1_000, timeoutMs: 2_000 };
    this.client = connect("ws://world", { WebSocket, grace: world.options.graceMs, reconnect }, this);
  }

  get isAsleep(): boolean {
    return this.#world.time.monoMs < this.#asleepUntil;
  }

  get isDrowsy(): boolean {
    return this.#world.time.monoMs < this.#asleepUntil + 1.01 * CHECK_MS;
  }

  readonly mono = (): number => this.wall() - WALL_MS - this.#sleptMs;
  readonly wall = (): number => WALL_MS + this.#origin + this.#world.time.monoMs * this.#rate;

  /** What is asked in one turn leaves in one message, a moment later. */
  readonly afterTurn = (run: () => void): void => void this.timer(0, run);

  readonly timer = (ms: number, run: () => void): (() => void) => {
    let isCancelled = false;
    const cancel = this.#world.time.timer(ms / this.#rate, () => {
      this.#awake(() => {
        if (!isCancelled) run();
      });
    });
    return () => {
      isCancelled = true;
      cancel();
    };
  };

  /** Nothing runs for so long, and the monotonic clock does not count it. */
  sleep(ms: number): void {
    if (this.isAsleep) return;
    this.#asleepUntil = this.#world.time.monoMs + ms;
    this.#sleptMs += ms * this.#rate;
  }

  #awake(run: () => void): void {
    if (this.isAsleep) this.#world.time.timer(this.#asleepUntil - this.#world.time.monoMs, run);
    else run();
  }
}

const WALL_MS = 1_600_000_000_000;

/** One connection, seen from both ends: what the client calls is here, and what the server does with it. */
export class Link implements WebSocketLike {
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  readonly #world: World;
  readonly #wake: (run: () => void) => void;
  #upAt = 0;
  #downAt = 0;
  /** Nothing gets through any more, and nobody is told. */
  #cut = { up: false, down: false };
  #clientClosed = false;
  #serverClosed = false;
  #session: string | undefined;
  #secret = "";
  #heardAt = 0;
  #pingAt = 0;

  /** `wake` runs something in the client's machine, when that is awake. */
  constructor(world: World, wake: (run: () => void) => void) {
    this.#world = world;
    this.#wake = wake;
    world.links.add(this);
    this.#heardAt = world.time.monoMs;
    this.#down(() => this.#toClient(() => this.onopen?.({} as never)));
  }

  // The client's end.

  send(text: string): void {
    this.#up(() => this.#heard(text));
  }

  close(): void {
    this.#clientClosed = true;
    this.#up(() => this.end(undefined));
    const { onclose } = this;
    this.#world.time.timer(0, () => onclose?.({ code: 1006 } as never));
  }

  // Faults.

  /** Silence in one direction or both. With `noticed` the server is told of a close, as by a proxy. */
  cut(direction: "up" | "down" | "both", noticed: boolean): void {
    if (direction !== "down") this.#cut.up = true;
    if (direction !== "up") this.#cut.down = true;
    if (noticed) this.end(undefined);
  }

  /**
   * Both ends are told; the server first, or after the client has noticed. (Before that, without a grace, a client cannot
   * know, and only the fence protects.)
   */
  break(serverFirst: boolean): void {
    const { time } = this.#world;
    const endServer = (): (() => void) => time.timer(this.#travel(), () => this.end(undefined));
    if (serverFirst) endServer();
    time.timer(this.#travel(), () => {
      this.#clientHears(1006);
      this.#wake(endServer);
    });
    this.#cut = { up: true, down: true };
  }

  // The server's end.

  end(code: number | undefined): void {
    if (this.#serverClosed) return;
    this.#serverClosed = true;
    this.#world.links.delete(this);
    if (code !== undefined) this.#down(() => this.#clientHears(code));
    if (this.#session !== undefined) this.#world.leave(this.#session, this);
  }

  tell(effect: Effect): void {
    const told = frameOf(effect, this.#world.time.monoMs);
    if (told !== undefined) this.#say(told);
    if (effect.kind === "refused" && effect.request === "") this.end(4410);
    if (effect.kind === "session_ended") this.end(effect.reason === "bye" ? 1000 : 4410);
    if (effect.kind === "opened") this.#welcome(false, undefined);
    if (effect.kind === "resumed") {
      this.#welcome(
        true,
        effect.claims.map(({ request: id, expiresAt, ttlMs: ttl, ...claim }) => ({
          id,
          ...claim,
          ...(expiresAt !== undefined && { ttl, expires_in: Math.floor(expiresAt - this.#world.time.monoMs) }),
        })),
      );
    }
  }

  #heard(text: string): void {
    if (this.#serverClosed) return;
    const world = this.#world;
    this.#heardAt = world.time.monoMs;
    if (text === "pong") return this.#sayText("ack");
    for (const frame of [JSON.parse(text) as ClientFrame | ClientFrame[]].flat()) this.#serve(frame);
  }

  #serve(frame: ClientFrame): void {
    const world = this.#world;
    if (frame.t === "hello") return this.#hello(frame);
    const from = this.#session;
    if (from === undefined) return;
    switch (frame.t) {
      case "acquire": {
        const { id: request, key, token, ttl: ttlMs, timeout: timeoutMs, nest, mode = "exclusive" } = frame;
        return world.step({
          kind: "acquire",
          from,
          request,
          session: true,
          key,
          mode,
          newToken: `token ${from} ${request}`,
          ...(ttlMs !== undefined && { ttlMs }),
          ...(timeoutMs !== undefined && { timeoutMs }),
          ...(token !== undefined && { token }),
          ...(nest !== undefined && { nest }),
        });
      }
      case "cancel":
        return world.step({ kind: "cancel", from, request: frame.id });
      case "extend":
        return world.step({
          kind: "extend",
          from,
          request: frame.id,
          key: frame.key,
          token: frame.token,
          ttlMs: frame.ttl,
        });
      case "release":
        return world.step({ kind: "release", from, request: frame.id, key: frame.key, token: frame.token });
      case "bye":
        return world.step({ kind: "bye", session: from });
      default:
        throw new Error(`the simulated server does not know ${frame.t}`);
    }
  }

  #hello({ resume }: HelloFrame): void {
    const world = this.#world;
    this.#session = resume?.session ?? world.mint();
    this.#secret = resume?.secret ?? world.mint();
    world.sit(this.#session, this);
    const known = { session: this.#session, secret: this.#secret };
    if (resume === undefined) world.step({ kind: "open", ...known, graceMs: world.options.graceMs });
    else world.step({ kind: "resume", ...known });
  }

  #welcome(resumed: boolean, claims: unknown): void {
    const { graceMs: grace } = this.#world.options;
    this.#say({
      t: "welcome",
      v: 1,
      session: this.#session,
      secret: this.#secret,
      grace,
      resumed,
      claims,
      ...HEARTBEAT,
    });
    this.#pingAt = this.#world.time.monoMs + PING_MS;
    this.#watch();
  }

  #watch(): void {
    const { time } = this.#world;
    const at = Math.min(this.#pingAt, this.#heardAt + DEADLINE_MS);
    time.timer(at - time.monoMs, () => {
      if (this.#serverClosed) return;
      if (time.monoMs >= this.#heardAt + DEADLINE_MS) {
        this.end(this.#world.options.graceMs > 0 ? 4408 : 4410);
        return;
      }
      if (time.monoMs >= this.#pingAt) {
        this.#pingAt += PING_MS;
        this.#sayText("ping");
      }
      this.#watch();
    });
  }

  #say(frame: object): void {
    this.#sayText(JSON.stringify(frame));
  }

  #sayText(text: string): void {
    this.#down(() => this.#toClient(() => this.onmessage?.({ data: text } as never)));
  }

  #clientHears(code: number): void {
    this.#toClient(() => {
      this.#clientClosed = true;
      this.onclose?.({ code } as never);
    });
  }

  #toClient(run: () => void): void {
    this.#wake(() => {
      if (!this.#clientClosed) run();
    });
  }

  // The network: in order, each direction by itself.

  #up(arrive: () => void): void {
    this.#upAt = this.#carry(this.#upAt, "up", arrive);
  }

  #down(arrive: () => void): void {
    this.#downAt = this.#carry(this.#downAt, "down", arrive);
  }

  #carry(after: number, direction: "up" | "down", arrive: () => void): number {
    const { time } = this.#world;
    const at = Math.max(after, time.monoMs + this.#travel());
    time.timer(at - time.monoMs, () => {
      if (!this.#cut[direction]) arrive();
    });
    return at;
  }

  #travel(): number {
    return this.#world.between(...this.#world.options.travelMs);
  }
}

const HEARTBEAT = { ping: PING_MS, deadline: DEADLINE_MS };

function frameOf(effect: Effect, now: number): object | undefined {
  switch (effect.kind) {
    case "queued":
      return { t: "queued", id: effect.request, ticket: effect.ticket, position: effect.position };
    case "granted": {
      const { request: id, key, token, fence, mode, reentrant, depth, ttlMs: ttl, expiresAt } = effect;
      const lease = expiresAt === undefined ? undefined : { ttl, expires_in: Math.max(0, Math.floor(expiresAt - now)) };
      return { t: "granted", id, key, token, fence, mode, reentrant, depth, ...lease };
    }
    case "ended":
      if (effect.outcome === "timed_out") return { t: "timeout", id: effect.request };
      if (effect.outcome === "cancelled") return { t: "cancelled", id: effect.request };
      if (effect.outcome === "released" && effect.by === undefined) return undefined;
      return { t: "lost", id: effect.request, key: effect.key, reason: effect.outcome };
    case "lost":
      return { t: "lost", id: effect.request, key: effect.key, reason: effect.reason };
    case "extended": {
      const { request: id, key, fence, ttlMs: ttl, expiresAt } = effect;
      return { t: "extended", id, key, fence, ttl, expires_in: Math.floor(expiresAt - now) };
    }
    case "released":
      return { t: "released", id: effect.request, depth: effect.depth };
    case "refused":
      if (effect.code === "session_ended" && effect.request === "") {
        return { t: "error", code: effect.code, detail: "the session is over" };
      }
      return { t: "refused", id: effect.request, code: effect.code, detail: effect.code, retryable: false };
    default:
      return undefined;
  }
}
