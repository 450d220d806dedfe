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
  /** The server refused it, as one too many. */
  #isRefused = false;
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
    if (this.#watch === undefined) this.#open();
    return () => {
      if (!this.#listeners.delete(call) || this.#listeners.size > 0) return;
      this.#cancelClose = this.#later(() => {
        this.#watch?.close();
        this.#watch = undefined;
        this.#onIdle();
      });
    };
  }

  /** Another watch has ended, so there may be room for one that was refused. */
  retry(): void {
    if (this.#isRefused && this.#watch !== undefined) this.#open();
  }

  #open(): void {
    const watch = this.#client.watch(this.#key);
    this.#isRefused = false;
    this.#watch = watch;
    watch.subscribe(() => this.#look());
    ended(watch).catch(() => {
      this.#isRefused = this.#watch === watch;
    });
  }

  #look(): void {
    const { state, isCurrent = false } = this.#watch ?? {};
    this.#view = settled(this.#view, { ...(state ?? freeView(this.#key)), isCurrent });
    for (const tell of this.#listeners) tell();
  }
}

/** Resolves when the watch is closed; rejects when it was refused. */
async function ended(watch: Watch): Promise<void> {
  const states = watch[Symbol.asyncIterator]();
  while ((await states.next()).done !== true);
}
