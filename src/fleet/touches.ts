/**
 * What is published on a space's own channel while any server watches it: the keys that each call changed, numbered without gaps. What
 * is lost there shows by its number, or by the one that answers tell; then any key may have changed.
 */

import type { Hear } from "../host/lock-port.ts";
import type { Listener, Subscription } from "./connector.ts";
import { decodeTouched } from "./script.ts";

/** What was published before an answer was given arrives within this time of it. */
const PUBLISH_LATE_MS = 250;

export class Touches {
  /** When it is clear whether something was lost; Infinity: nothing is suspected. */
  at: number = Number.POSITIVE_INFINITY;
  readonly #subscribe: (listener: Listener) => Subscription;
  readonly #onError: (error: unknown) => void;
  #hear: Hear | undefined;
  #subscription: Subscription | undefined;
  /** The latest number of which nothing before is missing; undefined until an answer has told one. */
  #last: number | undefined;
  #heardLast = 0;
  #toldLast = 0;

  constructor(subscribe: (listener: Listener) => Subscription, onError: (error: unknown) => void) {
    this.#subscribe = subscribe;
    this.#onError = onError;
  }

  /** What each call says. */
  get head(): { readonly watch?: true } {
    return this.#hear === undefined ? {} : { watch: true };
  }

  watch(hear: Hear): () => void {
    this.close();
    this.#hear = hear;
    this.#subscription = this.#subscribe({
      message: (text) => this.#message(text),
      listening: () => {
        this.#last = undefined;
        this.#hear?.(undefined);
      },
    });
    return () => {
      if (this.#hear === hear) this.close();
    };
  }

  close(): void {
    this.#subscription?.close();
    this.#subscription = undefined;
    this.#hear = undefined;
    this.#last = undefined;
    this.#heardLast = 0;
    this.at = Number.POSITIVE_INFINITY;
  }

  /** An answer told how many there were up to it. */
  told(number: number, now: number): void {
    if (this.#hear === undefined) return;
    this.#toldLast = number;
    this.#last ??= Math.max(number, this.#heardLast);
    if (number > this.#last && this.at === Number.POSITIVE_INFINITY) this.at = now + PUBLISH_LATE_MS;
  }

  due(now: number): void {
    if (now < this.at) return;
    this.at = Number.POSITIVE_INFINITY;
    if (this.#last === undefined || this.#last >= this.#toldLast) return;
    this.#last = this.#toldLast;
    this.#hear?.(undefined);
    // It says that it listens, and hears nothing.
    this.#subscription?.renew();
  }

  #message(text: string): void {
    try {
      const { number, keys } = decodeTouched(text);
      const isNext = this.#last === undefined || number === this.#last + 1;
      if (this.#last !== undefined) this.#last = number;
      this.#heardLast = number;
      this.#hear?.(isNext ? keys : undefined);
    } catch (error) {
      this.#onError(error);
    }
  }
}
