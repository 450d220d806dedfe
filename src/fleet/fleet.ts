/** A program's part in a fleet: one connection to Redis and one channel, for all its spaces. */

import type { FleetPort, SharedSpaceParts } from "../host/fleet-port.ts";
import type { Clock, Mint } from "../host/ports.ts";
import { SPACE_DEFAULT } from "../protocol/names.ts";
import { type Connector, inTime, type Subscription } from "./connector.ts";
import { FleetError } from "./error.ts";
import { frees, SCRIPT_THAT_FREES } from "./full.ts";
import { SCRIPT } from "./lua/index.ts";
import { FLEET_LIMITS, LEASE_DEFAULT_MS, pollMs } from "./limits.ts";
import {
  decodeAnswer,
  decodeWake,
  encodeCall,
  encodeLimits,
  type FleetAnswer,
  type FleetCall,
  type ScriptArguments,
  touchedChannel,
  type Wake,
} from "./script.ts";
import { FleetSpace } from "./space.ts";

export interface FleetOptions {
  readonly connector: Connector;
  readonly clock: Clock;
  readonly mint: Mint;
  readonly onError: (error: unknown, about: { readonly where: string }) => void;
  /** Before the name of everything in Redis; without braces. Fleets with different ones never meet. */
  readonly prefix?: string | undefined;
  /** A process that was not heard of for so long is given up by the others. */
  readonly leaseMs?: number | undefined;
  /** A lost push is repaired within this time. */
  readonly retryMs?: number | undefined;
  /** The first call comes without a look at what kind of Redis it is. */
  readonly isTrusted?: boolean;
}

const PREFIX_DEFAULT = "latchkey:";

/** Whoever asks whether Redis is there is not told what was true longer ago than this. */
const FRESH_MS = 500;
const ASK_MAX_MS = 1000;

export class Fleet implements FleetPort {
  readonly #options: FleetOptions;
  readonly #prefix: string;
  readonly #leaseMs: number;
  readonly #retryMs: number;
  readonly #spaces: Map<string, FleetSpace> = new Map();
  #channel: string | undefined;
  #subscription: Subscription | undefined;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #durable = false;
  /** What it refused last, since when it has not shown that it works again. */
  #outage: FleetError | undefined;
  /** Whether this Redis may be used at all. */
  #isInspected: boolean;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#isInspected = options.isTrusted ?? false;
    this.#prefix = options.prefix ?? PREFIX_DEFAULT;
    if (/[{}]/.test(this.#prefix)) throw new RangeError("the prefix of a fleet must not contain braces");
    this.#leaseMs = options.leaseMs ?? LEASE_DEFAULT_MS;
    this.#retryMs = pollMs(options);
  }

  /** Whether what was written survives a restart of Redis; false until `ready` has looked. */
  get durable(): boolean {
    return this.#durable;
  }

  /** Rejects with a FleetError when Redis is not there, or must not be used. */
  async ready(): Promise<void> {
    const { durable } = await this.#options.connector.inspect();
    this.#durable = durable;
    this.#isInspected = true;
    this.#answeredAt = this.#options.clock.now();
  }

  connect(parts: SharedSpaceParts): FleetSpace {
    const { clock, mint, onError } = this.#options;
    const { limits, quarantineMs } = parts;
    this.#channel ??= `${this.#prefix}wake:${mint.token()}`;
    const channel = this.#channel;
    const settings = { leaseMs: this.#leaseMs, limits: { ...FLEET_LIMITS, ...limits }, quarantineMs };
    const encodedLimits = encodeLimits(settings.limits);
    const space = new FleetSpace(parts, {
      newProcess: (self) => {
        this.#spaces.delete(self.process);
        const process = mint.token();
        this.#spaces.set(process, self);
        return process;
      },
      clock,
      channel,
      settings,
      retryMs: this.#retryMs,
      call: (call) => this.#call(call, encodedLimits, frees(call)),
      onWaiting: () => (this.#subscription ??= this.#subscribe(channel)),
      onUnheard: () => this.#subscription?.renew(),
      onOver: ({ process }) => this.#spaces.delete(process),
      listen: (listener) => this.#options.connector.subscribe(touchedChannel(this.#prefix, parts.name), listener),
      onError,
    });
    return space;
  }

  async isAvailable(): Promise<boolean> {
    if (this.#outage === undefined && this.#options.clock.now() < this.#answeredAt + FRESH_MS) return true;
    try {
      // A Redis that is full, or a replica by now, tells of itself all the same: what it refused last it has to do again.
      await inTime<unknown>(this.#outage ? this.#call(this.#nothing(), encodeLimits({})) : this.ready(), ASK_MAX_MS);
      return true;
    } catch {
      return false;
    }
  }

  /** All spaces have been left before. */
  async close(): Promise<void> {
    this.#subscription?.close();
    await this.#options.connector.close();
  }

  /** `isFreeing`: it is carried out although Redis is full. */
  async #call(call: FleetCall, limits: string, isFreeing = false): Promise<FleetAnswer> {
    const encoded = encodeCall(this.#prefix, call, limits);
    const reply = await this.#run(encoded, isFreeing).catch((error: unknown) => {
      if (isFreeing && error instanceof FleetError && error.code === "full") return this.#free(encoded, error);
      throw error;
    });
    this.#answeredAt = this.#options.clock.now();
    try {
      return decodeAnswer(reply);
    } catch {
      // What could not be read is not shown: it may have tokens in it.
      throw new FleetError("broken", "the script gave an answer that cannot be read");
    }
  }

  /** An outage is told of once, however many spaces there are. */
  async #run(encoded: ScriptArguments, isFreeing: boolean): Promise<string> {
    try {
      if (!this.#isInspected) await this.ready();
      const reply = await this.#options.connector.run({ script: SCRIPT, ...encoded });
      // Where it deletes something first, a call that frees is carried out by a Redis that is full as ever.
      if (!isFreeing || this.#outage?.code !== "full") this.#outage = undefined;
      return reply;
    } catch (error) {
      const outage = error instanceof FleetError && error.isPassing ? error : undefined;
      if (outage !== undefined && this.#outage === undefined) this.#options.onError(error, { where: "fleet" });
      this.#outage = outage;
      throw error;
    }
  }

  async #free(encoded: ScriptArguments, refused: FleetError): Promise<string> {
    try {
      return await this.#options.connector.run({ script: SCRIPT_THAT_FREES, ...encoded });
    } catch (error) {
      // That this Redis does not take such a script is no news; that it is gone meanwhile is.
      throw error instanceof FleetError && error.code === "unreachable" ? error : refused;
    }
  }

  /** A call of nobody: it is served like any other, and nothing comes of it. */
  #nothing(): FleetCall {
    return { space: SPACE_DEFAULT, process: this.#options.mint.token(), batch: 1, read: 0, commands: [] };
  }

  #subscribe(channel: string): Subscription {
    return this.#options.connector.subscribe(channel, {
      message: (text) => this.#heard(text),
      listening: () => {
        for (const space of this.#spaces.values()) space.missed();
      },
    });
  }

  #heard(text: string): void {
    let wake: Wake;
    try {
      wake = decodeWake(text);
    } catch {
      // It is not shown either. What it was to tell is found out by a poll.
      this.#options.onError(new FleetError("broken", "a push that cannot be read"), { where: "push" });
      return;
    }
    this.#spaces.get(wake.process)?.heard(wake);
  }
}
