/** Whether pushes arrive: mail that a poll found, and of which no push tells even afterwards, shows that they do not. */

/** A push that is on its way arrives within this time. */
const PUSH_LATE_MS = 250;

export class PushWatch {
  /** When it is clear; Infinity: nothing is suspected. */
  at: number = Number.POSITIVE_INFINITY;
  #found = 0;
  #pushedLast = 0;

  pushed(number: number): void {
    this.#pushedLast = Math.max(this.#pushedLast, number);
  }

  /** A poll brought this letter, which others had caused. */
  found(number: number, now: number): void {
    if (this.#pushedLast >= number || this.at !== Number.POSITIVE_INFINITY) return;
    this.#found = number;
    this.at = now + PUSH_LATE_MS;
  }

  /** At or after `at`: whether pushes are lost. */
  get isDeaf(): boolean {
    this.at = Number.POSITIVE_INFINITY;
    return this.#pushedLast < this.#found;
  }
}
