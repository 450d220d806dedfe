/** Letters by number: each is opened once and in order, whichever way and how often it came. */

import type { Letter } from "./script.ts";

export class Mailbox {
  /** Those whose turn has not come. */
  readonly #ahead: Map<number, Letter> = new Map();
  #read = 0;

  /** The number of the latest letter that was opened. */
  get read(): number {
    return this.#read;
  }

  /** Whether a letter is missing between those that were opened and those that are there. */
  get hasGap(): boolean {
    return this.#ahead.size > 0;
  }

  /** Gives `open` this letter and all that waited for it, if it is its turn. False: it was opened before. */
  put(letter: Letter, open: (letter: Letter) => void): boolean {
    if (letter.number <= this.#read) return false;
    this.#ahead.set(letter.number, letter);
    for (let next = this.#ahead.get(this.#read + 1); next !== undefined; next = this.#ahead.get(this.#read + 1)) {
      this.#ahead.delete(next.number);
      this.#read = next.number;
      open(next);
    }
    return true;
  }
}
