/** The one place that knows of the prefix under which a host keeps its keys. */
export class KeyNames {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** From the wire to the engine. */
  inward(key: string): string {
    return this.#prefix + key;
  }

  /** From the engine to the wire. A stored key may stem from a time with another prefix: it is told as it is. */
  outward(key: string): string {
    return key.startsWith(this.#prefix) ? key.slice(this.#prefix.length) : key;
  }
}
