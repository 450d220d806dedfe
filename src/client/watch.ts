/** Keys that are watched, each as the server told of it last. */

import { dispose } from "./dispose.ts";
import type { KeyState as StateTold } from "../protocol/watch-told.ts";
import { keyStateOf, type Self } from "./told-state.ts";
import type { KeyState, Watch, Watched, WatchListener } from "./watch-types.ts";

/** What is asked of the server. */
export type What = { readonly key: string } | { readonly prefix: string };

export class KeyWatch implements Watch {
  readonly what: What;
  #states: ReadonlyMap<string, KeyState> = new Map();
  /** Which session told of a key. */
  readonly #tellers = new Map<string, object>();
  /** The sessions whose word is current. */
  readonly #current = new Set<object>();
  /** Leaves the sessions. Undefined: the watch is over. */
  #stops: (() => void)[] | undefined = [];
  #error: Error | undefined;
  readonly #target = new EventTarget();

  constructor(watched: Watched, signal: AbortSignal | undefined) {
    this.what = typeof watched === "string" ? { key: watched } : { prefix: watched.prefix };
    if (signal?.aborted === true) this.close();
    else signal?.addEventListener("abort", () => this.close(), { once: true });
  }

  get states(): ReadonlyMap<string, KeyState> {
    return this.#states;
  }

  get state(): KeyState | undefined {
    return "key" in this.what ? this.#states.get(this.what.key) : undefined;
  }

  get isCurrent(): boolean {
    return this.#current.size > 0 && this.#current.size === this.#stops?.length;
  }

  addEventListener(type: "change", listener: WatchListener): void {
    this.#target.addEventListener(type, listener as EventListener);
  }

  removeEventListener(type: "change", listener: WatchListener): void {
    this.#target.removeEventListener(type, listener as EventListener);
  }

  subscribe(listener: () => void): () => void {
    // The same listener may subscribe twice.
    const call = (): void => listener();
    this.addEventListener("change", call);
    return () => this.removeEventListener("change", call);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<KeyState, undefined> {
    const news = new Map(this.#states);
    let wake = (): void => undefined;
    const listener: WatchListener = ({ detail }) => {
      for (const state of detail) news.set(state.key, state);
      wake();
    };
    this.addEventListener("change", listener);
    try {
      while (this.#stops !== undefined || news.size > 0) {
        for (const [key, state] of news) {
          news.delete(key);
          yield state;
        }
        if (this.#stops !== undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
      if (this.#error !== undefined) throw this.#error;
    } finally {
      this.removeEventListener("change", listener);
    }
  }

  close(error?: Error): void {
    const stops = this.#stops;
    if (stops === undefined) return;
    this.#stops = undefined;
    this.#error = error;
    for (const stop of stops) stop();
    this.#changed([]);
  }

  [dispose](): void {
    this.close();
  }

  // What the sessions do.

  /** `start` begins to tell, and returns what ends it. */
  join(start: (watch: KeyWatch) => () => void): void {
    this.#stops?.push(start(this));
  }

  /** The connection of a session is lost. */
  away(session: object): void {
    if (this.#current.delete(session)) this.#changed([]);
  }

  /** `isFull`: what is not told of is free. */
  told(session: object, told: readonly StateTold[], isFull: boolean, self: Self): void {
    const entries = new Map(told.map((entry) => [entry.key, entry]));
    if (isFull) {
      for (const [key, teller] of this.#tellers) {
        if (teller === session && !entries.has(key)) entries.set(key, { key, status: "free", holders: [], waiting: 0 });
      }
    }
    const states = new Map(this.#states);
    const changed: KeyState[] = [];
    for (const [key, entry] of entries) {
      const state = keyStateOf(entry, self);
      if (JSON.stringify(state) === JSON.stringify(states.get(key))) continue;
      changed.push(state);
      const isGone = "prefix" in this.what && state.status === "free" && state.waiting === 0;
      if (isGone) {
        states.delete(key);
        this.#tellers.delete(key);
      } else {
        states.set(key, state);
        this.#tellers.set(key, session);
      }
    }
    const isNews = !this.#current.has(session);
    this.#current.add(session);
    if (changed.length > 0) this.#states = states;
    if (changed.length > 0 || isNews) this.#changed(changed);
  }

  #changed(detail: readonly KeyState[]): void {
    this.#target.dispatchEvent(new CustomEvent("change", { detail }));
  }
}
