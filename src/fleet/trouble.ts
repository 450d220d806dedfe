/** An outage of Redis, from the first call without an answer to the first with one. */

import { backoffMs } from "./connector.ts";

/** Callers without a session are told after this long that Redis is away; sessions wait for as long as the lease lasts. */
const PATIENCE_MS = 2000;
const TELL_EVERY_MS = 1000;

export class Trouble {
  /** When the call is made again. */
  retryAt: number;
  /** When callers are told, again. */
  tellAt: number;
  #failures = 0;

  constructor(now: number) {
    this.retryAt = now;
    this.tellAt = now + PATIENCE_MS;
  }

  failed(now: number): void {
    this.retryAt = now + backoffMs(this.#failures++);
  }

  told(now: number): void {
    this.tellAt = now + TELL_EVERY_MS;
  }
}
