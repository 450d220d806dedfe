/**
 * How much of what a socket was sent is still under way. Workers tell nothing of it (no `bufferedAmount`, workerd 2026-11), and
 * what a peer does not read is kept in the object's 128 MB. So now and then a ping goes along: its pong comes when the peer
 * has read everything before it.
 */

import { BUFFERED_BYTES_MAX } from "../protocol/limits.ts";
import { PING } from "../protocol/server-frames.ts";

/** As much may be under way: what other runtimes' systems keep in their own buffers, and some more for slow lines. */
const AHEAD_CHARS_MAX = 16 * 1024 * 1024;

export class Flow {
  readonly #heardAt: () => number | undefined;
  #sentChars = 0;
  #readChars = 0;
  #probe: { readonly chars: number; readonly at: number } | undefined;

  /** `heardAt`: when the latest pong came. */
  constructor(heardAt: () => number | undefined) {
    this.#heardAt = heardAt;
  }

  /** As the host counts it: above its limit once too much is under way. */
  get buffered(): number {
    return Math.max(0, this.#sentChars - this.#readChars - AHEAD_CHARS_MAX + BUFFERED_BYTES_MAX);
  }

  /** Gives the ping that is to follow, if one is. */
  sent(text: string, now: number): string | undefined {
    this.#sentChars += text.length;
    if (this.#sentChars - this.#readChars <= BUFFERED_BYTES_MAX) return undefined;
    if (this.#probe !== undefined) {
      if ((this.#heardAt() ?? 0) <= this.#probe.at) return undefined;
      this.#readChars = this.#probe.chars;
    }
    this.#probe = { chars: this.#sentChars, at: now };
    return PING;
  }
}
