/** When a peer that does not read has too much waiting for it. */

import { BUFFERED_BYTES_MAX, ASKED_BUFFERED_BYTES_MAX } from "../protocol/limits.ts";

export class Backlog {
  /** Of what the peer has asked for and not read yet, bytes. */
  #asked = 0;

  /** What may be long goes out because the peer asked for it: alone it may be more than all that a slow reader may have waiting. */
  asked(bytes: number): void {
    this.#asked += bytes;
  }

  /** `buffered`: taken by the runtime and not sent, bytes. */
  isTooMuch(buffered: number): boolean {
    if (buffered <= BUFFERED_BYTES_MAX) {
      this.#asked = 0;
      return false;
    }
    return buffered > BUFFERED_BYTES_MAX + Math.min(this.#asked, ASKED_BUFFERED_BYTES_MAX);
  }
}
