/** All streams of server-sent events of a host: how many there are, and the comment that keeps each alive. */

import type { Pause } from "../pauses.ts";

/** Proxies cut what is silent for a minute; and where nothing else tells of a hang-up, a write does. */
const COMMENT_EVERY_MS = 15_000;

export interface Stream {
  comment(): void;
  end(): void;
}

export class Streams {
  readonly #pause: Pause;
  readonly #streams: Set<Stream> = new Set();
  #isPausing = false;

  constructor(pause: Pause) {
    this.#pause = pause;
  }

  get count(): number {
    return this.#streams.size;
  }

  add(stream: Stream): void {
    this.#streams.add(stream);
    this.#goOn();
  }

  /** A second time does nothing. */
  remove(stream: Stream): void {
    this.#streams.delete(stream);
  }

  /** Ends all of them; their readers may come again. */
  end(): void {
    for (const stream of this.#streams) stream.end();
  }

  #goOn(): void {
    if (this.#isPausing || this.#streams.size === 0) return;
    this.#isPausing = true;
    this.#pause(COMMENT_EVERY_MS, () => {
      this.#isPausing = false;
      for (const stream of this.#streams) stream.comment();
      this.#goOn();
    });
  }
}
