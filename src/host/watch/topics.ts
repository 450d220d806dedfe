/** Topics by what they are about, and those that a key belongs to. */

import { type Target, Topic } from "./topic.ts";

export class Topics {
  readonly #keys: Map<string, Topic> = new Map();
  readonly #prefixes: Map<string, Topic> = new Map();
  /** How many prefixes there are of each length: a key is looked up once for each, however many prefixes are watched. */
  readonly #lengths: Map<number, number> = new Map();

  get isEmpty(): boolean {
    return this.#keys.size + this.#prefixes.size === 0;
  }

  *[Symbol.iterator](): IterableIterator<Topic> {
    yield* this.#keys.values();
    yield* this.#prefixes.values();
  }

  at(target: Target): Topic {
    const { map, name } = this.#placeOf(target);
    const known = map.get(name);
    if (known !== undefined) return known;
    const topic = new Topic(target);
    map.set(name, topic);
    if (target.prefix !== undefined) this.#count(name.length, 1);
    return topic;
  }

  remove({ target }: Topic): void {
    const { map, name } = this.#placeOf(target);
    map.delete(name);
    if (target.prefix !== undefined) this.#count(name.length, -1);
  }

  /** Those that are about the key. */
  each(key: string, visit: (topic: Topic) => void): void {
    const topic = this.#keys.get(key);
    if (topic !== undefined) visit(topic);
    for (const length of this.#lengths.keys()) {
      const found = length <= key.length ? this.#prefixes.get(key.slice(0, length)) : undefined;
      if (found !== undefined) visit(found);
    }
  }

  #placeOf(target: Target): { map: Map<string, Topic>; name: string } {
    if (target.prefix === undefined) return { map: this.#keys, name: target.key };
    return { map: this.#prefixes, name: target.prefix };
  }

  #count(length: number, change: 1 | -1): void {
    const count = (this.#lengths.get(length) ?? 0) + change;
    if (count === 0) this.#lengths.delete(length);
    else this.#lengths.set(length, count);
  }
}
