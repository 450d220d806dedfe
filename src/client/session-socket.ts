/** The socket of a session: one at a time, and whatever an older one still says is not heard. */

import { SUBPROTOCOL } from "../protocol/limits.ts";
import type { OnError } from "./locks.ts";

/** What the client uses of a WebSocket. Its handlers are never called from within `send` or `close`. */
export interface WebSocketLike {
  send(text: string): void;
  close(code?: number): void;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
}

export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

/** An API key, or what gets one: called for each attempt. */
export type Auth = string | (() => string | Promise<string>);

interface SocketEvents {
  opened(credential: string | undefined): void;
  received(text: string): void;
  closed(code: number | undefined): void;
  readonly onError: OnError;
}

export class SessionSocket {
  /** Resolves when the socket that was hung up on last is closed. */
  closed: Promise<void> = Promise.resolve();
  readonly #url: string;
  readonly #WebSocket: WebSocketConstructor;
  readonly #auth: Auth | undefined;
  readonly #events: SocketEvents;
  #socket: WebSocketLike | undefined;
  #attempt = 0;

  constructor(url: string, WebSocket: WebSocketConstructor, auth: Auth | undefined, events: SocketEvents) {
    this.#url = url;
    this.#WebSocket = WebSocket;
    this.#auth = auth;
    this.#events = events;
  }

  open(): void {
    this.#attempt += 1;
    const attempt = this.#attempt;
    this.#connect(attempt).catch((error: unknown) => {
      this.#events.onError(error, { where: "connect" });
      if (attempt === this.#attempt) this.#events.closed(undefined);
    });
  }

  send(text: string): void {
    this.#socket?.send(text);
  }

  hangUp(code: number | undefined): void {
    this.#attempt += 1;
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#socket = undefined;
    this.closed = new Promise((resolve) => {
      socket.onclose = () => resolve();
    });
    socket.close(code);
  }

  async #connect(attempt: number): Promise<void> {
    const credential = typeof this.#auth === "function" ? await this.#auth() : this.#auth;
    if (attempt !== this.#attempt) return;
    const socket = new this.#WebSocket(this.#url, [SUBPROTOCOL]);
    this.#socket = socket;
    const isCurrent = (): boolean => this.#socket === socket;
    socket.onopen = () => {
      if (isCurrent()) this.#events.opened(credential);
    };
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      if (isCurrent()) this.#events.received(String(data));
    };
    socket.onclose = ({ code }: { readonly code?: number }) => {
      if (!isCurrent()) return;
      this.#socket = undefined;
      this.#events.closed(code);
    };
    // A close follows every error. Without a handler some implementations throw.
    socket.onerror = () => undefined;
  }
}
