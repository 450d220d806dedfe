/** The socket of a session: one at a time, and whatever an older one still says is not heard. */

import { BATCH_FRAMES_MAX } from "../protocol/limits.ts";
import type { Ports } from "./clock.ts";
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

/** What the socket needs around it. */
export interface Surroundings {
  readonly ports: Pick<Ports, "afterTurn" | "timer">;
  /** With what it is `opened` is a credential, what is `received` a text, and what it is `closed` with a code, if they are known. */
  tell(event: "opened" | "received" | "closed", told?: string | number): void;
  readonly onError: OnError;
}

/** How long a socket may take to close, ms. */
const CLOSE_MS = 1_000;

/** A longer frame goes alone, so that no batch is too much for one message. */
const BATCHED_CHARS_MAX = 2_048;

export class SessionSocket {
  /** Resolves when the socket that was hung up on last is closed, or has had its time for that. */
  closed: Promise<void> = Promise.resolve();
  readonly #make: () => WebSocketLike;
  readonly #around: Surroundings;
  readonly #credential: () => Promise<string | undefined>;
  #socket: WebSocketLike | undefined;
  #attempt = 0;
  /** Frames that leave together at the end of the turn: a release and the next acquire cost one message. */
  #leaving: string[] = [];

  /** Both are called for each attempt: first what gets the credential, then what opens the socket. */
  constructor(around: Surroundings, credential: () => Promise<string | undefined>, make: () => WebSocketLike) {
    this.#make = make;
    this.#around = around;
    this.#credential = credential;
  }

  open(): void {
    this.#attempt += 1;
    const attempt = this.#attempt;
    this.#connect(attempt).catch((error: unknown) => {
      this.#around.onError(error, { where: "connect" });
      if (attempt === this.#attempt) this.#around.tell("closed");
    });
  }

  /** A frame, which may wait for others until the end of the turn; bare words and long frames go at once, behind what waits. */
  send(text: string): void {
    const isAlone = text[0] !== "{" || text.length > BATCHED_CHARS_MAX;
    if (isAlone || this.#leaving.length === BATCH_FRAMES_MAX) this.#flush();
    if (isAlone) this.#socket?.send(text);
    else if (this.#leaving.push(text) === 1) this.#around.ports.afterTurn(() => this.#flush());
  }

  hangUp(code?: number): void {
    this.#flush();
    this.#attempt += 1;
    const socket = this.#socket;
    if (!socket) return;
    this.#socket = undefined;
    // Whatever it still says is not heard.
    socket.onopen = null;
    socket.onmessage = null;
    this.closed = new Promise((resolve) => {
      const cancel = this.#around.ports.timer(CLOSE_MS, resolve);
      socket.onclose = () => {
        cancel();
        resolve();
      };
    });
    socket.close(code);
  }

  #flush(): void {
    const frames = this.#leaving;
    this.#leaving = [];
    const text = frames.join();
    if (text !== "") this.#socket?.send(frames.length > 1 ? `[${text}]` : text);
  }

  async #connect(attempt: number): Promise<void> {
    const credential = await this.#credential();
    if (attempt !== this.#attempt) return;
    const socket = this.#make();
    this.#socket = socket;
    socket.onopen = () => this.#around.tell("opened", credential);
    socket.onmessage = ({ data }: { readonly data: string }) => this.#around.tell("received", data);
    socket.onclose = ({ code }: { readonly code?: number }) => {
      this.#socket = undefined;
      // Whoever asked is told that the connection is lost, and asks again on the next one.
      this.#leaving = [];
      this.#around.tell("closed", code);
    };
    // A close follows every error. Without a handler some implementations throw.
    socket.onerror = () => undefined;
  }
}
