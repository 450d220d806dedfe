/** So many requests a minute for each name, counted in this process. */
export class RateLimit {
  readonly #max: number;
  #minute = 0;
  #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  takes(name: string): boolean {
    const minute = Math.floor(Date.now() / 60_000);
    if (minute !== this.#minute) this.#counts = new Map();
    this.#minute = minute;
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return count <= this.#max;
  }
}
