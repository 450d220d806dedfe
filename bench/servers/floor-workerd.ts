/** The bare relay and the bare echo on workerd: one Durable Object with sleeping sockets, as Latchkey has there. */

import { DurableObject } from "cloudflare:workers";
import {
  closeSocket,
  type ObjectNamespace,
  socketPair,
  upgraded,
  type WorkerSocket,
} from "../../src/workers/platform.ts";

interface Peer {
  readonly ring: string | null;
  readonly index: number;
}

interface Env {
  readonly FLOOR: ObjectNamespace<{ fetch(request: Request): Promise<Response> }>;
}

export class Floor extends DurableObject<Env> {
  readonly #rings = new Map<string, WorkerSocket[]>();
  readonly #peers = new Map<WorkerSocket, Peer>();

  constructor(...given: ConstructorParameters<typeof DurableObject<Env>>) {
    super(...given);
    // It sleeps while others are measured, and forgets all but the sockets.
    for (const ws of this.ctx.getWebSockets()) this.#admit(ws, ws.deserializeAttachment() as Peer);
  }

  fetch(request: Request): Response {
    const ring = new URL(request.url).searchParams.get("ring");
    const [client, server] = socketPair();
    this.ctx.acceptWebSocket(server, []);
    const peer: Peer = { ring, index: ring === null ? 0 : (this.#rings.get(ring)?.length ?? 0) };
    server.serializeAttachment(peer);
    this.#admit(server, peer);
    return upgraded(client, undefined);
  }

  webSocketMessage(ws: WorkerSocket, text: string): void {
    const { ring, index = 0 } = this.#peers.get(ws) ?? {};
    const sockets = ring === null || ring === undefined ? undefined : this.#rings.get(ring);
    (sockets?.[(index + 1) % sockets.length] ?? ws).send(text);
  }

  webSocketClose(ws: WorkerSocket, code: number, reason: string): void {
    const ring = this.#peers.get(ws)?.ring;
    if (typeof ring === "string") this.#rings.delete(ring);
    this.#peers.delete(ws);
    closeSocket(ws, code, reason);
  }

  #admit(ws: WorkerSocket, peer: Peer): void {
    this.#peers.set(ws, peer);
    if (peer.ring === null) return;
    const sockets = this.#rings.get(peer.ring) ?? [];
    this.#rings.set(peer.ring, sockets);
    sockets[peer.index] = ws;
  }
}

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    return env.FLOOR.getByName("floor").fetch(request);
  },
};
