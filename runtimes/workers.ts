/** Latchkey on Cloudflare Workers: a space is a Durable Object. Deploy this file, or export its parts from a Worker of yours. */

// — types —

import { DurableObject } from "cloudflare:workers";
import type { HttpClient } from "../src/client/http-client.ts";
import type { ConnectionMemory } from "../src/host/memory.ts";
import { problem } from "../src/host/problem.ts";
import type { Socket } from "../src/host/ports.ts";
import { SPACE_DEFAULT } from "../src/protocol/names.ts";
import { isOurs } from "../src/requests.ts";
import { Flow } from "../src/workers/flow.ts";
import { Front } from "../src/workers/front.ts";
import { LockKeeper } from "../src/workers/keeper.ts";
import { locksOf } from "../src/workers/locks.ts";
import type { Answered, Asked, LatchkeyEnv } from "../src/workers/objects.ts";
import { closeSocket, type ObjectContext, type WorkerSocket } from "../src/workers/platform.ts";

export type { LatchkeyEnv };

/** Latchkey inside a Worker of your own. */
export interface Latchkey {
  /** Answers what is for Latchkey; undefined for anything else, so that `latchkey(env).fetch(request) ?? yours(request)` serves both. */
  readonly fetch: (request: Request) => Promise<Response> | undefined;
  /**
   * The locks of a space for the Worker's own code, by RPC and without a key. They are held by their leases: default 30 s.
   * Default space: `default`.
   */
  readonly locks: (space?: string) => HttpClient;
  /** Tells every session of a space to come back in some seconds, and sends away who waits. */
  readonly drain: (space?: string) => Promise<void>;
}

// — serve —

const fronts = new WeakMap<LatchkeyEnv, Front>();

export function latchkey(env: LatchkeyEnv): Latchkey {
  const front = fronts.get(env) ?? new Front(env);
  fronts.set(env, front);
  return {
    fetch: (request) => (isOurs(request.url) ? front.fetch(request) : undefined),
    locks: (space = SPACE_DEFAULT) => locksOf(space, front),
    async drain(space = SPACE_DEFAULT) {
      await Promise.all(front.parts(space).map((object) => object.drain()));
    },
  };
}

export default {
  fetch(request: Request, env: LatchkeyEnv): Promise<Response> | Response {
    return latchkey(env).fetch(request) ?? problem("not_found", "there is nothing at this path");
  },
};

// — socket —

class ObjectSocket implements Socket {
  readonly id: string;
  readonly ws: WorkerSocket;
  readonly #ctx: ObjectContext;
  readonly #flow: Flow;

  constructor(ws: WorkerSocket, id: string, ctx: ObjectContext) {
    this.id = id;
    this.ws = ws;
    this.#ctx = ctx;
    this.#flow = new Flow(() => this.heardAt);
  }

  /** A pong is answered by the runtime, without waking the object: this is all that the object learns of it. */
  get heardAt(): number | undefined {
    return this.#ctx.getWebSocketAutoResponseTimestamp(this.ws)?.getTime();
  }

  get buffered(): number {
    return this.#flow.buffered;
  }

  send(text: string): boolean {
    if (this.ws.readyState !== 1) return false;
    this.ws.send(text);
    const probe = this.#flow.sent(text, Date.now());
    if (probe !== undefined) this.ws.send(probe);
    return true;
  }

  close(code: number, reason: string): void {
    closeSocket(this.ws, code, reason);
  }

  remember(memory: ConnectionMemory | undefined): void {
    this.ws.serializeAttachment(memory ?? null);
  }
}

// — wiring —

/** One space, or a part of one that is spread. It sleeps while nothing happens, and its sockets stay open. */
export class LockSpace extends DurableObject<LatchkeyEnv> {
  readonly #keeper: LockKeeper;

  constructor(ctx: ObjectContext, env: LatchkeyEnv) {
    super(ctx, env);
    this.#keeper = new LockKeeper(ctx, env, (ws, id) => new ObjectSocket(ws, id, ctx));
  }

  fetch(request: Request): Promise<Response> {
    return this.#keeper.fetch(request);
  }

  ask(asked: Asked): Promise<Answered> {
    return this.#keeper.ask(asked);
  }

  confirm(name: string, isDelivered: boolean): boolean {
    return this.#keeper.host.confirm(name, isDelivered);
  }

  drain(): Promise<void> {
    return this.#keeper.drain();
  }

  alarm(): void {
    this.#keeper.woken();
  }

  webSocketMessage(ws: WorkerSocket, message: string | ArrayBuffer): void {
    const socket = this.#keeper.socketOf(ws);
    if (typeof message === "string") this.#keeper.host.message(socket, message);
    else this.#keeper.host.binary(socket);
  }

  webSocketClose(ws: WorkerSocket, code: number, reason: string): void {
    this.#keeper.closed(ws);
    // Without this a client that closes waits 10 s for the answer, and then gets 1006 (workerd 2026-11).
    closeSocket(ws, code, reason);
  }

  webSocketError(ws: WorkerSocket): void {
    this.#keeper.closed(ws);
  }
}
