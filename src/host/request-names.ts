/**
 * Request ids for callers that give none. No two are ever the same, in no life of the program, and nobody can guess one: whoever
 * repeats a request is told its token. One secret for all of them and a number cost a tenth of a secret for each.
 */

import type { Mint } from "./ports.ts";

export class RequestNames {
  readonly #mint: Mint;
  #secret: string | undefined;
  #count = 0;

  constructor(mint: Mint) {
    this.#mint = mint;
  }

  next(): string {
    this.#secret ??= this.#mint.token();
    return `${this.#secret}.${++this.#count}`;
  }
}
