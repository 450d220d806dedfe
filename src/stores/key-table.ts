/**
 * A Map of very many keys. A plain one copies all that it has whenever it grows or shrinks, as V8's and JavaScriptCore's do: 25 ms
 * at a quarter of a million entries, in which nobody is served. Here each of many parts copies its own, at a time of its own.
 */

/** A power of two. Two million keys are 8 000 a part, which are copied within a millisecond. */
const PARTS = 256;

export class KeyTable<V> {
  readonly #parts: Map<string, V>[] = Array.from({ length: PARTS }, () => new Map());
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    return this.#part(key).get(key);
  }

  set(key: string, value: V): void {
    const part = this.#part(key);
    const before = part.size;
    part.set(key, value);
    this.#size += part.size - before;
  }

  delete(key: string): void {
    if (this.#part(key).delete(key)) this.#size -= 1;
  }

  /** In no order. */
  *values(): Generator<V, void, undefined> {
    for (const part of this.#parts) yield* part.values();
  }

  /** By a hash and not by turns: parts of one size would all copy in the same moment. */
  #part(key: string): Map<string, V> {
    let hash = 0;
    for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0;
    return this.#parts[(hash ^ (hash >>> 15)) & (PARTS - 1)] as Map<string, V>;
  }
}
