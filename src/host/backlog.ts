/** When a peer that does not read has too much waiting for it. */

import { BUFFERED_BYTES_MAX, REPLAYS_BUFFERED_BYTES_MAX } from "../protocol/limits.ts";

export class Backlog {
  /** Of results that the peer has asked for and not read yet, bytes. */
  #results = 0;

  /** A frame with a result goes out. One may be longer than all that a slow reader may have waiting. */
  asked(frameBytes: number): void {
    this.#results += frameBytes;
  }

  /** `buffered`: taken by the runtime and not sent, bytes. */
  isTooMuch(buffered: number): boolean {
    if (buffered <= BUFFERED_BYTES_MAX) {
      this.#results = 0;
      return false;
    }
    return buffered > BUFFERED_BYTES_MAX + Math.min(this.#results, REPLAYS_BUFFERED_BYTES_MAX);
  }
}
