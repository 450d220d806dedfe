/** The host of one Durable Object, and what it takes to carry on after the object was put to sleep or started anew. */

import type { EngineLimits } from "../core/index.ts";
import { Host } from "../host/host.ts";
import type { HostPorts } from "../host/host-ports.ts";
import type { ConnectionMemory } from "../host/memory.ts";
import { createMint } from "../host/mint.ts";
import type { Clock, Hibernation, Socket } from "../host/ports.ts";
import { problem } from "../host/problem.ts";
import { ACK, PONG } from "../protocol/server-frames.ts";
import { isUpgrade } from "../requests.ts";
import { ObjectStore } from "../stores/durable-object.ts";
import { ObjectAlarm } from "./alarm.ts";
import { askHost } from "./ask.ts";
import { type Answered, type Asked, CONFIRM_MS, type Place, placeOf, UNCONFIRMED } from "./objects.ts";
import { autoResponse, type ObjectContext, socketPair, upgraded, type WorkerSocket } from "./platform.ts";
import { type ObjectSettings, readSettings } from "./settings.ts";

/** Engine time is wall time: it must go on while the object sleeps, and `performance.now` stands still between events. */
const clock: Clock = { now: () => Date.now(), wall: () => Date.now(), isWall: true };

/** A caller that died while it waited holds for `confirmMs` at most, and usually for some ms: see delivery.ts. */
const HIBERNATION: Hibernation = { pingPhaseMs: 0, confirmMs: CONFIRM_MS, returnMs: 5000, forgetEveryMs: 60_000 };

/** An object has 128 MB, and serves some hundred calls a second: what other runtimes allow would be its end. */
const LIMITS: Partial<EngineLimits> = {
  keysMax: 20_000,
  waitersPerKeyMax: 10_000,
  claimsPerSessionMax: 2000,
  callerClaimsMax: 20_000,
  sessionsMax: 32_768,
  endedMax: 20_000,
};
const RATE_PER_SECOND = 2000;

const OPEN = 1;

export class LockKeeper {
  host: Host;
  readonly #ctx: ObjectContext;
  readonly #settings: ObjectSettings;
  readonly #place: Place;
  readonly #alarm: ObjectAlarm;
  readonly #mint = createMint();
  readonly #wrap: (ws: WorkerSocket, id: string) => Socket;
  readonly #sockets: Map<string, Socket> = new Map();

  /**
   * Everything that is stored and has nobody any more ends here, in the object's first step: sessions whose sockets were lost
   * with the object's process, of which no event ever tells.
   */
  constructor(ctx: ObjectContext, env: object, wrap: (ws: WorkerSocket, id: string) => Socket) {
    this.#ctx = ctx;
    this.#wrap = wrap;
    this.#settings = readSettings(env);
    this.#place = placeOf(ctx.id.name ?? "");
    this.#alarm = new ObjectAlarm(ctx.storage, (error) => printError(error, { where: "alarm" }));
    ctx.setWebSocketAutoResponse(autoResponse(PONG, ACK));
    // One that is closing stays in the list until the peer has answered, which may be never.
    const live = ctx.getWebSockets().filter((ws) => ws.readyState === OPEN && ws.deserializeAttachment() !== null);
    this.host = this.#start(live.length > 0);
    for (const ws of live) this.host.reopened(this.socketOf(ws), ws.deserializeAttachment() as ConnectionMemory);
    ctx
      .blockConcurrencyWhile(() => this.#alarm.read(clock.now()))
      .catch((error: unknown) => printError(error, { where: "alarm" }));
    this.host.resume(this.#place.space);
  }

  async fetch(request: Request): Promise<Response> {
    if (isUpgrade(request)) return this.#upgrade(request);
    const response = await this.host.fetch(request);
    const unconfirmed = this.host.unconfirmed(response);
    if (unconfirmed !== undefined) response.headers.set(UNCONFIRMED, unconfirmed);
    return response;
  }

  ask(asked: Asked): Promise<Answered> {
    return askHost(this.host, asked);
  }

  /** The alarm, early, late or twice: what is due is found by the clock. */
  woken(): void {
    this.#alarm.fired();
    this.host.woken();
  }

  closed(ws: WorkerSocket): void {
    const socket = this.socketOf(ws);
    this.#sockets.delete(socket.id);
    this.host.closed(socket);
  }

  async drain(): Promise<void> {
    await this.host.drain();
    this.host = this.#start(false);
    this.host.resume(this.#place.space);
  }

  /** By its tag: after a sleep the same socket is another object. */
  socketOf(ws: WorkerSocket): Socket {
    const [id = ""] = this.#ctx.getTags(ws);
    const socket = this.#sockets.get(id) ?? this.#wrap(ws, id);
    this.#sockets.set(id, socket);
    return socket;
  }

  #start(isWake: boolean): Host {
    const store = new ObjectStore(this.#ctx.storage, { clock, isWake });
    const { part, spread } = this.#place;
    const ports: HostPorts = {
      clock,
      alarm: this.#alarm,
      mint: this.#mint,
      store,
      onError: printError,
      hibernation: HIBERNATION,
      share: spread === 1 ? undefined : { part, spread },
    };
    return new Host(ports, {
      ...this.#settings,
      limits: LIMITS,
      ratePerSecond: RATE_PER_SECOND,
      persist: "all",
      ...(isWake && { quarantineMs: 0 }),
    });
  }

  #upgrade(request: Request): Response {
    if (this.#ctx.getWebSockets().length >= this.#settings.socketsMax) {
      return problem("limit", "the space has as many sessions as it can have", { limit: "sockets" });
    }
    const admission = this.host.admit(request);
    if (admission instanceof Response) return admission;
    const [client, server] = socketPair();
    this.#ctx.acceptWebSocket(server, [this.#mint.token()]);
    this.host.opened(this.socketOf(server), { admission });
    return upgraded(client, admission.protocol);
  }
}

function printError(error: unknown, { where }: { readonly where: string }): void {
  console.error(`latchkey: error in ${where}:`, error);
}
