/** A token bucket: so many a second on average, and as many at once. */
export class Bucket {
  readonly #perSecond: number;
  #left: number;
  #filledAt: number;

  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
    this.#filledAt = now;
  }

  /** False when there is none left. */
  take(now: number): boolean {
    this.#left = Math.min(this.#perSecond, this.#left + ((now - this.#filledAt) * this.#perSecond) / 1000);
    this.#filledAt = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
