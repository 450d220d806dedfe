/**
 * A Map of very many keys. A plain one copies all that it has whenever it grows or shrinks, as V8's and JavaScriptCore's do: 25 ms
 * at a quarter of a million entries, in which nobody is served. Here each of many parts copies its own, at a time of its own. Few keys
 * are in one Map: there may be ten thousand spaces, and so many empty Maps take 48 KiB on Node.
 */

/** So many are divided up within a millisecond. */
const WHOLE_MAX = 4096;

/** A power of two. Two million keys are 8 000 a part, which are copied within a millisecond. */
const PARTS = 256;

export class KeyTable<V> {
  /** One, or all of them once there are many keys. */
  #parts: Map<string, V>[] = [new Map()];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    return partOf(this.#parts, key).get(key);
  }

  set(key: string, value: V): void {
    const part = partOf(this.#parts, key);
    const before = part.size;
    part.set(key, value);
    this.#size += part.size - before;
    if (this.#size > WHOLE_MAX && this.#parts.length === 1) this.#divide(part);
  }

  delete(key: string): void {
    if (!partOf(this.#parts, key).delete(key)) return;
    this.#size -= 1;
    if (this.#size === 0) this.#parts = [new Map()];
  }

  /** In no order. */
  *values(): Generator<V, void, undefined> {
    for (const part of this.#parts) yield* part.values();
  }

  #divide(whole: ReadonlyMap<string, V>): void {
    this.#parts = Array.from({ length: PARTS }, () => new Map());
    for (const [key, value] of whole) partOf(this.#parts, key).set(key, value);
  }
}

/** By a hash and not by turns: parts of one size would all copy in the same moment. */
function partOf<V>(parts: readonly Map<string, V>[], key: string): Map<string, V> {
  if (parts.length === 1) return parts[0] as Map<string, V>;
  let hash = 0;
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0;
  return parts[(hash ^ (hash >>> 15)) & (PARTS - 1)] as Map<string, V>;
}
