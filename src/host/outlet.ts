/** What one connection is told: frames that leave together at the end of the turn, and the bare words between them. */

import type { ServerFrame } from "../protocol/server-frames.ts";
import { Backlog } from "./backlog.ts";
import type { Departing } from "./departures.ts";
import type { HostParts } from "./parts.ts";
import type { Socket } from "./ports.ts";

/** What waits leaves at once when it is more than this, so that no message grows without bound. */
const WAITING_CHARS_MAX = 64 * 1024;

export class Outlet implements Departing {
  readonly #socket: Socket;
  readonly #parts: Pick<HostParts, "departures" | "metrics" | "onError">;
  readonly #onDead: (reason: string) => void;
  /** The texts of the frames that wait, with commas between them. */
  #waiting = "";
  #waitingCount = 0;
  readonly #backlog = new Backlog();
  #isShut = false;

  /** `onDead`: the peer takes nothing more. */
  constructor(
    socket: Socket,
    parts: Pick<HostParts, "departures" | "metrics" | "onError">,
    onDead: (reason: string) => void,
  ) {
    this.#socket = socket;
    this.#parts = parts;
    this.#onDead = onDead;
  }

  send(frame: ServerFrame): void {
    if (this.#isShut) return;
    const text = JSON.stringify(frame);
    if (frame.t === "replay" || frame.t === "list") this.sendAsked(text);
    else this.sendText(text);
  }

  /** A frame that the peer asked for and that may be long. */
  sendAsked(text: string): void {
    this.#backlog.asked(text.length);
    this.sendText(text);
  }

  /** A frame that is text already, since many are told the same. */
  sendText(text: string): void {
    if (this.#isShut) return;
    this.#parts.metrics.frameOut();
    this.#waitingCount += 1;
    if (this.#waitingCount === 1) {
      this.#waiting = text;
      this.#parts.departures.add(this);
    } else {
      this.#waiting += `,${text}`;
    }
    if (this.#waiting.length > WAITING_CHARS_MAX) this.depart();
  }

  /** Order counts here too: a client takes an `ack` to mean that what was said before it did not know of its pong. */
  sendBare(text: string): void {
    if (this.#isShut) return;
    this.#parts.metrics.frameOut();
    this.depart();
    this.#sendText(text);
  }

  depart(): void {
    const count = this.#waitingCount;
    if (count === 0) return;
    const text = this.#waiting;
    this.#waiting = "";
    this.#waitingCount = 0;
    this.#sendText(count === 1 ? text : `[${text}]`);
  }

  /** Nothing leaves any more. */
  shut(): void {
    this.#isShut = true;
    this.#waiting = "";
    this.#waitingCount = 0;
  }

  #sendText(text: string): void {
    if (this.#isShut) return;
    if (!this.#trySend(text)) this.#onDead("a message was not taken");
    else if (this.#backlog.isTooMuch(this.#socket.buffered)) this.#onDead("slow reader");
  }

  #trySend(text: string): boolean {
    try {
      return this.#socket.send(text);
    } catch (error) {
      this.#parts.onError(error, { where: "send" });
      return false;
    }
  }
}
