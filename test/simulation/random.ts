/**
 * A small seeded generator (sfc32). It uses 32-bit integer operations only, so a seed draws the same numbers
 * on every runtime.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.#a = 0x9e3779b9 ^ seed;
    this.#b = 0x243f6a88 ^ Math.imul(seed, 0x85ebca6b);
    this.#c = 0xb7e15162;
    // Neighbouring seeds start alike; a few rounds tell them apart.
    for (let i = 0; i < 15; i++) this.next();
  }

  /** 32 random bits as an integer in [0, 2³²). */
  next(): number {
    const drawn = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + drawn) | 0;
    return drawn >>> 0;
  }

  /** An integer from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor((this.next() / 0x1_0000_0000) * (max - min + 1));
  }

  /** True with the given probability. */
  chance(probability: number): boolean {
    return this.next() < probability * 0x1_0000_0000;
  }

  /** One of `choices`, which must not be empty. */
  pick<T>(choices: readonly T[]): T {
    const chosen = choices[this.between(0, choices.length - 1)];
    if (chosen === undefined) throw new Error("nothing to pick from");
    return chosen;
  }

  /** A name of `weights`, each as likely as its weight; at least one weight must be above 0. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    const total = entries.reduce((sum, [, weight]) => sum + weight, 0);
    let left = (this.next() / 0x1_0000_0000) * total;
    for (const [name, weight] of entries) {
      if (weight > 0 && left < weight) return name;
      left -= weight;
    }
    throw new Error("no weight is above 0");
  }

  /** A shuffled copy. */
  shuffled<T>(items: readonly T[]): T[] {
    const copy = [...items];
    for (let i = copy.length - 1; i > 0; i--) {
      const j = this.between(0, i);
      const kept = copy[i] as T;
      copy[i] = copy[j] as T;
      copy[j] = kept;
    }
    return copy;
  }
}

/** Undefined when there is nothing to pick from. */
export function pickOf<T>(random: Random, choices: readonly T[]): T | undefined {
  return choices.length === 0 ? undefined : random.pick(choices);
}
