/** The one alarm of a Durable Object, at or before the soonest deadline. */

import type { Alarm } from "../host/ports.ts";

export interface AlarmStorage {
  getAlarm(): Promise<number | null>;
  setAlarm(at: number): Promise<void>;
}

/**
 * An alarm costs a written row each time it is set and a request each time it goes off. So one that is armed for sooner
 * stays: it finds nothing due and sets the next. Leases mostly move to later times, and moving the alarm along with each
 * would cost a row a lock; so it costs a wake-up a lease at most.
 */
export class ObjectAlarm implements Alarm {
  readonly #storage: AlarmStorage;
  readonly #onError: (error: unknown) => void;
  #wanted = Number.POSITIVE_INFINITY;
  #armedAt = Number.POSITIVE_INFINITY;
  /** Also until it is known what is armed. */
  #isFlushing = true;

  constructor(storage: AlarmStorage, onError: (error: unknown) => void) {
    this.#storage = storage;
    this.#onError = onError;
  }

  /** Learns what an earlier life of the object has set. One that is past may have been used up already. */
  async read(now: number): Promise<void> {
    const at = await this.#storage.getAlarm();
    if (at !== null && at > now) this.#armedAt = at;
    this.#flush();
  }

  set(at: number): void {
    this.#wanted = at;
    if (at >= this.#armedAt || this.#isFlushing) return;
    // Once for all that one turn sets.
    this.#isFlushing = true;
    queueMicrotask(() => this.#flush());
  }

  /** It has gone off, early or late: whatever is armed is used up. */
  fired(): void {
    this.#armedAt = Number.POSITIVE_INFINITY;
  }

  #flush(): void {
    this.#isFlushing = false;
    if (this.#wanted >= this.#armedAt) return;
    const at = this.#wanted;
    this.#armedAt = at;
    // Rounded up: an alarm that comes before its time finds nothing due.
    this.#storage.setAlarm(Math.ceil(at)).catch((error: unknown) => {
      // Nothing is armed as far as anybody knows: whatever is set next is set again.
      if (this.#armedAt === at) this.#armedAt = Number.POSITIVE_INFINITY;
      this.#onError(error);
    });
  }
}
