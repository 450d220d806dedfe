/**
 * Callers and sessions that take and leave keys until the server is killed, and then hold the next server to everything
 * that the killed one had answered. What was on its way at that moment may have happened or not, but not both.
 */

import { expect } from "vitest";
import type { ClaimTold } from "../../src/protocol/server-frames.ts";
import type { Random } from "../simulation/random.ts";
import { Caller } from "./caller.ts";
import type { Holding, Ledger } from "./ledger.ts";
import type { Server } from "./server.ts";
import { openSocket, type TestSocket } from "./socket.ts";

const KEYS = Array.from({ length: 12 }, (_, i) => `load-${i}`);
const TTL_MS = 60_000;
const GRACE_MS = 60_000;
/** Short, so that a key which somebody keeps does not stop the load. */
const TIMEOUT_MS = 20;
const KEEP_CHANCE = 0.05;
const KEPT_MAX = 1;
const RELEASED_MAX = 10;

export interface Loaded {
  /** Connects, and demands that all is as it was left. */
  resume(server: Server): Promise<void>;
  /** Resolves when the server is gone. */
  run(): Promise<void>;
  /** To be called when it is. */
  killed(at: number): void;
}

interface Asking {
  readonly key: string;
  readonly request: string;
}

/** A program that calls over HTTP. */
export class CallerLoad implements Loaded {
  readonly #name: string;
  readonly #ledger: Ledger;
  readonly #random: Random;
  #caller = new Caller("");
  #isKilled = false;
  #count = 0;
  #kept: Holding[] = [];
  #released: Holding[] = [];
  #asking: Asking | undefined;
  #releasing: Holding | undefined;

  constructor(name: string, ledger: Ledger, random: Random) {
    this.#name = name;
    this.#ledger = ledger;
    this.#random = random;
  }

  async resume(server: Server): Promise<void> {
    this.#caller = new Caller(server.url);
    this.#isKilled = false;
    for (const { key, fence } of this.#kept) {
      expect((await this.#caller.status(key)).body.holders).toMatchObject([{ fence }]);
    }
    for (const { key, fence, token } of this.#released) {
      expect((await this.#caller.release(key, { token })).body).toEqual({ status: "released", already: true });
      const { body } = await this.#caller.status(key);
      for (const holder of body.holders) expect(holder.fence).not.toBe(fence);
    }
    if (this.#asking) await this.#acquire(this.#asking);
    for (const holding of [...this.#kept, ...(this.#releasing ? [this.#releasing] : [])]) await this.#release(holding);
    this.#kept = [];
  }

  async run(): Promise<void> {
    while (!this.#isKilled) {
      this.#count += 1;
      await this.#acquire({ key: this.#random.pick(KEYS), request: `${this.#name}-${this.#count}` });
    }
  }

  killed(): void {
    this.#isKilled = true;
  }

  async #acquire(asking: Asking): Promise<void> {
    this.#asking = asking;
    const { key, request } = asking;
    const body = { ttl: TTL_MS, timeout: TIMEOUT_MS, request_id: request, on_timeout: "ok" };
    const answer = await this.#unlessKilled(this.#caller.acquire(key, body));
    if (answer === undefined) return;
    expect(answer.status).toBe(200);
    this.#asking = undefined;
    if (answer.body.status === "timeout") return;
    const holding = this.#ledger.granted(answer.body);
    if (this.#kept.length < KEPT_MAX && this.#random.chance(KEEP_CHANCE)) this.#kept.push(holding);
    else await this.#release(holding);
  }

  async #release(holding: Holding): Promise<void> {
    this.#releasing = holding;
    holding.to = Math.min(holding.to, performance.now());
    const answer = await this.#unlessKilled(this.#caller.release(holding.key, { token: holding.token }));
    if (answer === undefined) return;
    expect(answer).toMatchObject({ status: 200, body: { status: "released" } });
    this.#releasing = undefined;
    this.#released = [...this.#released, holding].slice(-RELEASED_MAX);
  }

  #unlessKilled<T>(answer: Promise<T>): Promise<T | undefined> {
    return unless(() => this.#isKilled, answer);
  }
}

/** A session. With a grace it goes on where it was, without one it has lost everything. */
export class SessionLoad implements Loaded {
  readonly #name: string;
  readonly #grace: number;
  readonly #ledger: Ledger;
  readonly #random: Random;
  #socket: TestSocket | undefined;
  #identity: { readonly session: string; readonly secret: string } | undefined;
  #isKilled = false;
  #count = 0;
  #kept: Holding[] = [];
  #asking: Asking | undefined;
  #releasing: Holding | undefined;

  constructor(name: string, isGraceful: boolean, ledger: Ledger, random: Random) {
    this.#name = name;
    this.#grace = isGraceful ? GRACE_MS : 0;
    this.#ledger = ledger;
    this.#random = random;
  }

  async resume(server: Server): Promise<void> {
    this.#socket = await openSocket(server.socketUrl);
    this.#isKilled = false;
    const resume = this.#grace > 0 ? this.#identity : undefined;
    const {
      session,
      secret,
      claims = [],
    } = await this.#socket.hello({ grace: this.#grace, ...(resume && { resume }) });
    this.#identity = { session, secret };
    if (resume) await this.#compare(new Map(claims.map((claim) => [claim.id, claim])));
    this.#asking = undefined;
  }

  async run(): Promise<void> {
    while (!this.#isKilled) {
      this.#count += 1;
      const asking = { key: this.#random.pick(KEYS), request: `${this.#name}-${this.#count}` };
      this.#asking = asking;
      this.#socket?.send({ t: "acquire", id: asking.request, key: asking.key, timeout: TIMEOUT_MS });
      await this.#outcome(asking);
    }
  }

  killed(at: number): void {
    this.#isKilled = true;
    if (this.#grace > 0) return;
    for (const holding of this.#kept) holding.to = at;
    if (this.#releasing) this.#releasing.to = Math.min(this.#releasing.to, at);
    this.#kept = [];
    this.#releasing = undefined;
  }

  /** The snapshot has every holding that was told and not let go, and what it has besides was on its way. */
  async #compare(claims: ReadonlyMap<string, ClaimTold>): Promise<void> {
    const holding = new Map([...claims.values()].map((claim) => [claim.fence, claim]));
    for (const { fence, token } of this.#kept) expect(holding.get(fence)).toMatchObject({ state: "holding", token });
    for (const kept of this.#kept.splice(0)) await this.#release(kept);
    if (this.#releasing) await this.#release(this.#releasing);
    const asked = this.#asking && claims.get(this.#asking.request);
    if (asked?.state === "holding") await this.#granted(asked as Holding & ClaimTold);
    if (asked?.state === "waiting") await this.#outcome({ key: asked.key, request: asked.id });
  }

  async #outcome({ request }: Asking): Promise<void> {
    for (;;) {
      const answer = await this.#unlessKilled(this.#socket?.nextFor(request));
      if (answer === undefined) return;
      if (answer.t === "queued") continue;
      this.#asking = undefined;
      expect(answer.t).toBeOneOf(["granted", "timeout"]);
      if (answer.t === "granted") await this.#granted(answer);
      return;
    }
  }

  async #granted(grant: Pick<Holding, "key" | "fence" | "token">): Promise<void> {
    const holding = this.#ledger.granted(grant);
    // The grant was on its way when the server was killed: without a grace it is lost as it arrives.
    if (this.#isKilled && this.#grace === 0) holding.to = holding.from;
    else if (this.#kept.length < KEPT_MAX && this.#random.chance(KEEP_CHANCE)) this.#kept.push(holding);
    else await this.#release(holding);
  }

  async #release(holding: Holding): Promise<void> {
    this.#releasing = holding;
    holding.to = Math.min(holding.to, performance.now());
    const { key, token } = holding;
    const answer = await this.#unlessKilled(this.#socket?.ask({ t: "release", key, token }, "released"));
    if (answer !== undefined) this.#releasing = undefined;
  }

  #unlessKilled<T>(answer: Promise<T> | undefined): Promise<T | undefined> {
    return unless(() => this.#isKilled, answer);
  }
}

/** The answer, or undefined when there is none because the server was killed. */
async function unless<T>(isKilled: () => boolean, answer: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isKilled()) return undefined;
    throw error;
  }
}
