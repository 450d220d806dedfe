/** A lock server without a server: give it a runtime's ports, and hand it requests, sockets and their messages. */

import type { MachineOptions } from "../core/index.ts";
import { CLOSE, type CloseCode } from "../protocol/close.ts";
import { type Admission, admissionOf } from "./admission.ts";
import { Arrivals } from "./arrivals.ts";
import type { Asked } from "./asked.ts";
import { type Credential, Keyring } from "./auth.ts";
import { returnAfterMs } from "./comeback.ts";
import { Confirmations } from "./confirmations.ts";
import { Connection } from "./connection.ts";
import { Departures } from "./departures.ts";
import { type App, createApp } from "./http.ts";
import type { GrantTold } from "./http-call.ts";
import { gaugesOf } from "./gauges.ts";
import type { HostPorts } from "./host-ports.ts";
import { KeyNames } from "./keys.ts";
import type { FleetPort, SharedSpace } from "./fleet-port.ts";
import type { LockReceiver } from "./lock-port.ts";
import { Looks } from "./looks.ts";
import type { ConnectionMemory } from "./memory.ts";
import { Metrics } from "./metrics.ts";
import type { HostParts } from "./parts.ts";
import { nativePause } from "./pauses.ts";
import { PlainAnswer } from "./plain.ts";
import type { Socket } from "./ports.ts";
import { RequestNames } from "./request-names.ts";
import { completeSettings, type HostChoices } from "./settings.ts";
import { Space } from "./space.ts";
import { Sweeper } from "./sweeper.ts";
import { Switchboard } from "./switchboard.ts";
import { Timers } from "./timers.ts";
import { FanOut } from "./watch/fan-out.ts";
import { Streams } from "./watch/streams.ts";
import { Wire } from "./wire.ts";

export type { Admission };

export interface OpenedOptions {
  /** Without one, for sockets within the process, a key may still be shown by the hello. */
  readonly admission?: Admission;
  /** False: no heartbeat, for sockets within the process, which cannot vanish without a close. In a fleet all have one: the process itself may be given up. */
  readonly liveness?: boolean;
}

/** Records that have expired are deleted in groups: the store may have to look at every record for it. */
const SWEEP_EVERY_MS = 10 * 60_000;

export class Host {
  readonly #ports: HostPorts;
  readonly #parts: HostParts;
  readonly #app: App;
  readonly #timers: Timers;
  readonly #sweeper: Sweeper;
  readonly #departures: Departures;
  readonly #arrivals: Arrivals;
  readonly #boards: Map<string, Switchboard> = new Map();
  readonly #connections: Map<string, Connection> = new Map();
  /** One for all: there may be ten thousand silent connections. */
  readonly #onClosed = ({ socket }: Connection): void => {
    this.#connections.delete(socket.id);
  };
  /** What answers tell of, by their requests until they are made. */
  readonly #grants: WeakMap<object, GrantTold> = new WeakMap();
  readonly #confirmations: Confirmations | undefined;
  /** A space of a memory-only store is empty when it is loaded again, but its numbers must go on. */
  #serialFloor = 0;
  #quarantineUntil: number;
  /** A space that the store failed at last; asking for it again shows whether the store is back. */
  #failedSpace: string | undefined;
  #isDraining = false;
  #isClosed = false;
  #stopping: Promise<void> | undefined;

  constructor(ports: HostPorts, choices?: HostChoices) {
    const settings = completeSettings(choices);
    const { clock, mint, store, onError, hibernation, pause = nativePause } = ports;
    this.#arrivals = new Arrivals(ports);
    this.#departures = new Departures(ports.later);
    const keys = new KeyNames(settings.prefix);
    this.#ports = ports;
    this.#timers = new Timers(ports.alarm);
    const everyMs = hibernation?.forgetEveryMs ?? SWEEP_EVERY_MS;
    this.#sweeper = new Sweeper({ clock, store, timers: this.#timers, everyMs, onError });
    this.#quarantineUntil = clock.now() + settings.quarantineMs;
    this.#parts = {
      clock,
      mint,
      requests: new RequestNames(mint),
      store,
      settings,
      timers: this.#timers,
      metrics: new Metrics(),
      keyring: new Keyring(settings.keys),
      keys,
      wire: new Wire(clock, keys),
      departures: this.#departures,
      pause,
      fanOut: new FanOut(pause, this.#departures, onError),
      streams: new Streams(pause),
      onError,
      hasDearSignals: ports.hasDearSignals === true,
      looks: new Looks(clock, ports.lookTurns ?? 0),
      turnsToKnow: () => this.#arrivals.turnsToKnow(),
      hibernation,
      share: ports.share,
      isDraining: () => this.#isDraining,
      board: (space) => this.#board(space),
    };
    const takeBack = (grant: GrantTold): void => this.#takeBack(grant);
    if (hibernation !== undefined) this.#confirmations = new Confirmations(this.#parts, hibernation, takeBack);
    this.#app = createApp(this.#parts, {
      grants: {
        note: (request, grant) => this.#grants.set(request, grant),
        takeBack,
      },
      gauges: () => gaugesOf(this.#boards, this.#connections.size, this.#parts.streams.count),
      isStoreAvailable: () => this.#isStoreAvailable(),
    });
  }

  /** Serves a request that is no upgrade. `credential`: who calls, for requests from within the program. Never rejects. */
  async fetch(request: Request, credential?: Credential): Promise<Response> {
    const answer = await (this.#app.direct(request, credential) ?? this.#app.fetch(request, credential));
    const response = answer instanceof PlainAnswer ? answer.toResponse() : answer;
    const grant = answer instanceof PlainAnswer ? answer.grant : this.#grants.get(request);
    if (grant !== undefined) this.#grants.set(response, grant);
    return response;
  }

  /** The same for the calls that programs make for each lock, without the web's types; undefined: it is none of them. */
  direct(request: Asked): Promise<Response | PlainAnswer> | undefined {
    return this.#app.direct(request);
  }

  /**
   * The answer to a request could not be sent, where the runtime can know. If it told of a grant, nobody knows the
   * token: the lock is given back.
   */
  undelivered(answer: Response | PlainAnswer): void {
    const grant = this.#grants.get(answer) ?? (answer instanceof PlainAnswer ? answer.grant : undefined);
    if (grant === undefined) return;
    this.#grants.delete(answer);
    this.#turn(() => this.#takeBack(grant));
  }

  /** A name for a grant whose delivery must be confirmed, lest it is taken back; undefined where there is nothing to confirm. */
  unconfirmed(response: Response): string | undefined {
    const grant = this.#grants.get(response);
    return grant?.hasWaited === true ? this.#confirmations?.expect(grant) : undefined;
  }

  /** The answer with that name is taken, or it is not. Whether its grant stands: if not, it must not be told. */
  confirm(name: string, isDelivered: boolean): boolean {
    return this.#confirmations?.confirm(name, isDelivered) ?? false;
  }

  /**
   * Decides on an upgrade: a response refuses it. A wrong key is refused later, by a close code: browsers show pages no
   * HTTP status.
   */
  admit(request: Request): Admission | Response {
    return admissionOf(request, this.#parts);
  }

  opened(socket: Socket, { admission, liveness = true }: OpenedOptions = {}): void {
    const connection = new Connection(socket, this.#parts, {
      shown: admission?.shown ?? this.#parts.keyring.judge(undefined),
      space: admission?.space,
      hasHeartbeat: liveness || this.#ports.fleet !== undefined,
      isOwn: !liveness,
      onClosed: this.#onClosed,
    });
    this.#connections.set(socket.id, connection);
    if (this.#isDraining) connection.drain(returnAfterMs());
  }

  /** A socket from an earlier life of this program, with what it remembered. All of them come before `resume`. */
  reopened(socket: Socket, memory: ConnectionMemory): void {
    const connection = new Connection(socket, this.#parts, {
      shown: memory.shown,
      space: memory.space,
      hasHeartbeat: true,
      onClosed: this.#onClosed,
      memory,
    });
    this.#connections.set(socket.id, connection);
  }

  /** Loads the space now: sessions without a socket end in this step, and whoever is next in line is granted. */
  resume(space: string): void {
    this.#board(space)?.port.submit({ kind: "tick" });
  }

  message(socket: Socket, text: string): void {
    this.#turn(() => this.#connections.get(socket.id)?.message(text));
  }

  binary(socket: Socket): void {
    this.#connections.get(socket.id)?.binary();
  }

  closed(socket: Socket): void {
    this.#departures.begin();
    try {
      this.#connections.get(socket.id)?.closed();
    } finally {
      this.#departures.endOfClose();
    }
  }

  /** The alarm went off. */
  woken(): void {
    this.#turn(() => this.#timers.run(this.#ports.clock.now()));
  }

  /**
   * Ends politely: no new work, whoever waits is sent away, sessions are told when to come back and end (or are
   * suspended, with a grace), and the store is closed when all that is committed.
   */
  drain(): Promise<void> {
    return this.#stop((connection) => connection.drain(returnAfterMs()));
  }

  /** The same without a word of when to come back. */
  close(): Promise<void> {
    return this.#stop((connection) => connection.close(CLOSE.goingAway satisfies CloseCode, "closed"));
  }

  /** What `work` tells the sockets leaves at its end. */
  #turn(work: () => void): void {
    this.#departures.begin();
    try {
      work();
    } finally {
      this.#departures.end();
    }
  }

  #stop(end: (connection: Connection) => void): Promise<void> {
    this.#stopping ??= this.#stopOnce(end);
    return this.#stopping;
  }

  async #stopOnce(end: (connection: Connection) => void): Promise<void> {
    this.#isDraining = true;
    // Callers first: what sessions let go must not be granted to calls that are about to be sent away.
    for (const board of this.#boards.values()) board.calls.drain();
    this.#parts.streams.end();
    for (const connection of this.#connections.values()) end(connection);
    // Afterwards nobody would take back what turns out to have reached nobody.
    await this.#confirmations?.settled();
    await Promise.all(
      [...this.#boards.values()].map(async ({ port }) => {
        await port.settled();
        await port.leave?.();
      }),
    );
    this.#timers.stop();
    this.#isClosed = true;
    await this.#ports.store.close();
  }

  #takeBack({ space, from, request }: GrantTold): void {
    if (!this.#isClosed) this.#boards.get(space)?.calls.undelivered(from, request);
  }

  #board(name: string): Switchboard | undefined {
    const known = this.#boards.get(name);
    if (known !== undefined) return known;
    if (this.#boards.size >= this.#parts.settings.spacesMax) return undefined;
    const { fleet } = this.#ports;
    const board = new Switchboard(this.#parts, (receiver) =>
      fleet === undefined ? this.#createSpace(name, receiver) : this.#joinSpace(fleet, name, receiver),
    );
    this.#boards.set(name, board);
    return board;
  }

  #createSpace(name: string, receiver: LockReceiver): Space {
    const { clock, store, gather, onError } = this.#ports;
    const { limits, persist } = this.#parts.settings;
    const isQuarantined = this.#quarantineUntil > clock.now();
    const quarantine = isQuarantined ? { quarantineUntil: this.#quarantineUntil } : undefined;
    const options: MachineOptions = { limits, persist, ...quarantine };
    return new Space({
      name,
      clock,
      store,
      timers: this.#timers,
      receiver,
      options,
      serialFloor: store.durable ? 0 : this.#serialFloor,
      forgetEveryMs: this.#ports.hibernation?.forgetEveryMs,
      gather: gather && ((commit) => gather(() => this.#arrivals.allRead(() => this.#turn(commit)))),
      onError: (error, about) => {
        // A record that cannot be read stops nothing, and must not go unseen.
        if (about.where === "find") this.#parts.metrics.count("latchkey_store_failures_total");
        onError(error, about);
      },
      onStored: () => {
        if (this.#failedSpace === name) this.#failedSpace = undefined;
        this.#sweeper.begin();
      },
      onExpiring: (at) => this.#sweeper.watch(at),
      onFailed: (space) => this.#failed(space),
      onIdle: (space) => this.#unload(space),
    });
  }

  #joinSpace(fleet: FleetPort, name: string, receiver: LockReceiver): SharedSpace {
    const { limits, quarantineMs } = this.#parts.settings;
    const gone = (space: SharedSpace): void => void this.#boards.delete(space.name);
    return fleet.connect({
      name,
      receiver,
      timers: this.#timers,
      limits,
      quarantineMs,
      onLost: (space) => {
        this.#parts.metrics.count("latchkey_store_failures_total");
        gone(space);
      },
      onIdle: gone,
    });
  }

  #unload(space: Space): void {
    space.unload();
    this.#boards.delete(space.name);
    this.#serialFloor = Math.max(this.#serialFloor, space.serial);
  }

  /** The next use loads the space anew. */
  #failed(space: Space): void {
    this.#unload(space);
    this.#failedSpace = space.name;
    this.#parts.metrics.count("latchkey_store_failures_total");
    const { store, clock } = this.#ports;
    // Without a durable store this is as bad as a restart: what was held is forgotten.
    if (!store.durable) this.#quarantineUntil = clock.now() + this.#parts.settings.quarantineMs;
  }

  #isStoreAvailable(): boolean | Promise<boolean> {
    if (this.#ports.fleet !== undefined) return this.#ports.fleet.isAvailable();
    if (this.#failedSpace !== undefined) this.#board(this.#failedSpace)?.port.submit({ kind: "tick" });
    return this.#failedSpace === undefined;
  }
}
