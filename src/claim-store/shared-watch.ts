/** One watch of a key for all who look at it, opened with the first of them and closed a turn after the last. */

import type { Client, KeyState, Watch } from "../client/index.ts";
import type { Later } from "./later.ts";
import { settled } from "./snapshot.ts";

export interface LockView extends KeyState {
  /** Whether this is how things stand now; false before the server has told and while the connection is away. */
  readonly isCurrent: boolean;
}

/** What is shown of a key of which nothing is known, and what a server renders. */
export function freeView(key: string): LockView {
  return Object.freeze({ key, status: "free", holders: Object.freeze([]), waiting: 0, isCurrent: false });
}

export class SharedWatch {
  readonly #client: Client;
  readonly #later: Later;
  readonly #onIdle: () => void;
  readonly #key: string;
  readonly #listeners: Set<() => void> = new Set();
  #watch: Watch | undefined;
  #view: LockView;
  #cancelClose: (() => void) | undefined;

  /** `onIdle`: called when the watch is closed. */
  constructor(client: Client, key: string, later: Later, onIdle: () => void) {
    this.#client = client;
    this.#key = key;
    this.#later = later;
    this.#onIdle = onIdle;
    this.#view = freeView(key);
  }

  get view(): LockView {
    return this.#view;
  }

  subscribe(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    this.#cancelClose?.();
    if (this.#watch === undefined) {
      this.#watch = this.#client.watch(this.#key);
      this.#watch.subscribe(() => this.#look());
    }
    return () => {
      if (!this.#listeners.delete(call) || this.#listeners.size > 0) return;
      this.#cancelClose = this.#later(() => {
        this.#watch?.close();
        this.#watch = undefined;
        this.#onIdle();
      });
    };
  }

  #look(): void {
    const { state, isCurrent = false } = this.#watch ?? {};
    this.#view = settled(this.#view, { ...(state ?? freeView(this.#key)), isCurrent });
    for (const tell of this.#listeners) tell();
  }
}
