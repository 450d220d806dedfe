/** Server-sent events: what somebody who has no session watches, over plain HTTP. */

import { BUFFERED_BYTES_MAX } from "../../protocol/limits.ts";
import type { HangUp } from "../asked.ts";
import { Backlog } from "../backlog.ts";
import type { Call } from "../gate.ts";
import { draining } from "../answers.ts";
import type { HostParts } from "../parts.ts";
import { problem } from "../problem.ts";
import type { StateTexts } from "./news.ts";
import type { Stream } from "./streams.ts";
import type { Place, Target, Watch, Watcher } from "./topic.ts";
import type { Watches } from "./watches.ts";

const HEADERS = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" };

const COMMENT = new TextEncoder().encode(":\n\n");

/** Answers once the present state is known, or with why it is not. `target` as keys are named inside. */
export function eventsOf(call: Call, target: Target, parts: HostParts): Promise<Response> {
  if (parts.isDraining()) return Promise.resolve(draining());
  if (parts.streams.count >= parts.settings.streamsMax) {
    return Promise.resolve(problem("limit", "too many streams are open", { limit: "streams" }));
  }
  const board = parts.board(call.space);
  if (board === undefined) return Promise.resolve(problem("limit", "too many spaces are in use", { limit: "spaces" }));
  return new Promise((resolve) => {
    const stream = new EventStream(parts, board.watches, resolve);
    stream.open(target, call.request.signal);
  });
}

class EventStream implements Stream, Watcher {
  /** Nobody's place and nobody's asks are told. */
  readonly session = undefined;
  readonly #parts: HostParts;
  readonly #hub: Watches;
  readonly #backlog = new Backlog();
  readonly #answer: (response: Response) => void;
  #watch: Watch | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #takeOff: () => void = () => {};

  constructor(parts: HostParts, hub: Watches, answer: (response: Response) => void) {
    this.#parts = parts;
    this.#hub = hub;
    this.#answer = answer;
  }

  open(target: Target, signal: HangUp): void {
    const hungUp = (): void => this.end();
    signal.addEventListener("abort", hungUp, { once: true });
    this.#takeOff = () => signal.removeEventListener("abort", hungUp);
    this.#parts.streams.add(this);
    this.#watch = this.#hub.open(target, this);
    if (signal.aborted) this.end();
  }

  mayWait(): boolean {
    return false;
  }

  tell(texts: StateTexts, place?: Place): void {
    this.#start();
    if (place !== undefined) this.#backlog.asked(texts.events.length);
    this.#write(texts.events);
  }

  refused(why: "limit" | "unavailable"): void {
    this.#leave();
    this.#answer(
      why === "limit"
        ? problem("limit", "too many live keys have this prefix", { limit: "watched_keys" })
        : problem("unavailable", "the store cannot be reached"),
    );
  }

  over(): void {
    this.end();
  }

  comment(): void {
    if (this.#controller !== undefined) this.#write(COMMENT);
  }

  /** The reader may come again. */
  end(): void {
    const isOpen = this.#leave();
    if (this.#controller === undefined) this.#answer(problem("unavailable", "the stream was ended"));
    else if (isOpen) this.#controller.close();
  }

  #start(): void {
    if (this.#controller !== undefined) return;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        // The reader is gone.
        cancel: () => void this.#leave(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: BUFFERED_BYTES_MAX }),
    );
    this.#answer(new Response(body, { headers: HEADERS }));
    // There may be nothing to tell for long, and only what comes shows that there is an answer.
    this.#write(COMMENT);
  }

  #write(bytes: Uint8Array): void {
    const controller = this.#controller;
    if (controller === undefined || this.#watch === undefined) return;
    controller.enqueue(bytes);
    if (!this.#backlog.isTooMuch(BUFFERED_BYTES_MAX - (controller.desiredSize ?? 0))) return;
    this.#leave();
    controller.error(new Error("a slow reader"));
  }

  /** False: it had left before. */
  #leave(): boolean {
    this.#takeOff();
    this.#parts.streams.remove(this);
    const watch = this.#watch;
    if (watch === undefined) return false;
    this.#watch = undefined;
    this.#hub.close(watch);
    return true;
  }
}
