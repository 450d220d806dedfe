/**
 * Latchkey by hand-written frames: what the server costs without what our client costs, the tickets, and connections
 * that can be cut.
 */

import { credential } from "./credential.ts";
import type { Ask, Cut, Driver, Held } from "./driver.ts";
import { nothing } from "./driver.ts";
import { monotonicNs } from "../load/gate.ts";
import { BenchSocket } from "./socket.ts";

interface Waiting {
  readonly resolve: (held: Held) => void;
  readonly reject: (error: Error) => void;
  ticket: number | undefined;
  queuedAtNs: number | undefined;
}

interface Frame {
  readonly t: string;
  readonly id: string;
  readonly key: string;
  readonly token: string;
  readonly ticket: number;
  readonly fence: number;
  readonly reason: string;
  readonly code?: string;
  readonly detail?: string;
}

export const latchkeyRaw: Driver = {
  name: "ws-raw",
  can: { shared: true, limit: true, drop: true, keys: true, quiet: true, ordered: true, clientsMax: 20_000 },
  open: async ({ url }) => ({
    connect: async (_index, broken) => {
      const session = new RawSession(await BenchSocket.open(sessionUrl(url), broken, ["latchkey.v1"]), broken);
      await session.hello();
      return session;
    },
    close: nothing,
  }),
};

class RawSession {
  readonly #socket: BenchSocket;
  readonly #broken: (error: Error) => void;
  readonly #waiting = new Map<string, Waiting>();
  readonly #releasing = new Map<string, () => void>();
  #welcomed: () => void = () => undefined;
  #lastId = 0;

  constructor(socket: BenchSocket, broken: (error: Error) => void) {
    this.#socket = socket;
    this.#broken = broken;
    socket.onText = (text) => this.#heard(text);
  }

  hello(): Promise<void> {
    return new Promise((resolve) => {
      this.#welcomed = resolve;
      this.#socket.send(JSON.stringify({ t: "hello", v: 1, auth: credential() }));
    });
  }

  acquire(key: string, ask: Ask): Promise<Held> {
    return new Promise((resolve, reject) => {
      const id = `a${++this.#lastId}`;
      this.#waiting.set(id, { resolve, reject, ticket: undefined, queuedAtNs: undefined });
      this.#socket.sendFrame(JSON.stringify({ t: "acquire", id, key, ...ask }));
    });
  }

  drop(cut?: Cut): void {
    this.#socket.drop(cut);
  }

  close(): Promise<void> {
    return this.#socket.close();
  }

  #heard(text: string): void {
    if (text === "ping") {
      this.#socket.send("pong");
      return;
    }
    if (text === "ack") return;
    const message = JSON.parse(text) as Frame | Frame[];
    if (!Array.isArray(message)) this.#frame(message);
    else for (const frame of message) this.#frame(frame);
  }

  #frame(frame: Frame): void {
    switch (frame.t) {
      case "queued": {
        const waiting = this.#waiting.get(frame.id);
        if (waiting === undefined) return;
        waiting.ticket = frame.ticket;
        waiting.queuedAtNs = monotonicNs();
        return;
      }
      case "granted":
        return this.#granted(frame);
      case "released":
        this.#releasing.get(frame.id)?.();
        this.#releasing.delete(frame.id);
        return;
      case "welcome":
        return this.#welcomed();
      case "lost":
        // Nothing else than a lease that was asked for can expire.
        if (frame.reason === "expired") return;
        return this.#broken(new Error(`a lock was lost: ${frame.reason}`));
      default:
        this.#broken(
          new Error(`the server answered ${[frame.t, frame.code, frame.detail].filter(Boolean).join(", ")}`),
        );
    }
  }

  #granted({ id, key, token, fence }: Frame): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.resolve({
      ticket: waiting.ticket,
      queuedAtNs: waiting.queuedAtNs,
      fence,
      release: () =>
        new Promise((resolve) => {
          const release = `r${++this.#lastId}`;
          this.#releasing.set(release, resolve);
          this.#socket.sendFrame(JSON.stringify({ t: "release", id: release, key, token }));
        }),
    });
  }
}

function sessionUrl(url: string): string {
  const address = new URL(url.replace(/^http/, "ws"));
  if (address.pathname === "/") address.pathname = "/v1/session";
  return address.href;
}
