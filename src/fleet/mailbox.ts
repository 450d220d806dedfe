/** Letters by number: each is opened once and in order, whichever way and how often it came. */

import type { Letter } from "./script.ts";

export class Mailbox {
  /** Those whose turn has not come. */
  readonly #ahead: Map<number, Letter> = new Map();
  /** Those whose turn has come, from the first that Redis does not know to be here. */
  #held: Letter[] = [];
  #read = 0;
  #acknowledged = 0;

  /** The number of the latest letter that is here with all before it. */
  get read(): number {
    return this.#read;
  }

  /** Whether a letter is missing between those whose turn has come and those that are there. */
  get hasGap(): boolean {
    return this.#ahead.size > 0;
  }

  /** Whether letters wait to be acknowledged. */
  get isHeld(): boolean {
    return this.#held.length > 0;
  }

  /** Gives `open` this letter and all that waited for it, if it is its turn. False: it was here before. */
  put(letter: Letter, open: (letter: Letter) => void): boolean {
    if (letter.number <= this.#read) return false;
    this.#ahead.set(letter.number, letter);
    for (let next = this.#ahead.get(this.#read + 1); next !== undefined; next = this.#ahead.get(this.#read + 1)) {
      this.#ahead.delete(next.number);
      this.#read = next.number;
      this.#held.push(next);
    }
    this.#openHeld(open);
    return true;
  }

  /** Redis has been told, and knows, that all letters up to this one are here. */
  acknowledged(read: number, open: (letter: Letter) => void): void {
    this.#acknowledged = Math.max(this.#acknowledged, read);
    this.#openHeld(open);
  }

  #openHeld(open: (letter: Letter) => void): void {
    const isOpen = ({ number, isUnheard }: Letter): boolean => isUnheard !== true || number <= this.#acknowledged;
    const count = this.#held.findIndex((letter) => !isOpen(letter));
    for (const letter of this.#held.splice(0, count === -1 ? this.#held.length : count)) open(letter);
  }
}
