/**
 * Something for each address, which is who asks and the name of the request. Two tables, and not one of both texts joined: a text
 * that is made anew for each look has to be read to its end for each.
 */
export class Addressed<T> {
  readonly #byCaller: Map<string, Map<string, T>> = new Map();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(from: string, request: string): T | undefined {
    return this.#byCaller.get(from)?.get(request);
  }

  set(from: string, request: string, value: T): void {
    let ofCaller = this.#byCaller.get(from);
    if (ofCaller === undefined) {
      ofCaller = new Map();
      this.#byCaller.set(from, ofCaller);
    }
    const before = ofCaller.size;
    ofCaller.set(request, value);
    this.#size += ofCaller.size - before;
  }

  /** Tables of callers stay: they are as many as there are API keys. */
  delete(from: string, request: string): void {
    if (this.#byCaller.get(from)?.delete(request) === true) this.#size -= 1;
  }

  *values(): Generator<T, void, undefined> {
    for (const ofCaller of this.#byCaller.values()) yield* ofCaller.values();
  }

  clear(): void {
    this.#byCaller.clear();
    this.#size = 0;
  }
}
