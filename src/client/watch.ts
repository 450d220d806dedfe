/** Keys that are watched, each as the server told of it last. */

import { dispose } from "./dispose.ts";
import { keyStateOf, type Self, type StateTold } from "./told-state.ts";
import type { KeyState, Watch, Watched, WatchListener } from "./watch-types.ts";

/** What is asked of the server. */
export type What = { readonly key: string } | { readonly prefix: string };

/** A session that tells of it. */
interface Source {
  /** What it has told of. */
  readonly keys: Set<string>;
  isCurrent: boolean;
}

export class KeyWatch implements Watch {
  readonly what: What;
  #states: ReadonlyMap<string, KeyState> = new Map();
  readonly #sources = new Map<object, Source>();
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
    const sources = [...this.#sources.values()];
    return sources.length > 0 && sources.every((source) => source.isCurrent);
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
    this.#sources.clear();
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

  /** `session` will tell, or its connection is away. */
  away(session: object): void {
    const source = this.#source(session);
    if (!source.isCurrent) return;
    source.isCurrent = false;
    this.#changed([]);
  }

  /** `isFull`: what is not told of is free. */
  told(session: object, told: readonly StateTold[], isFull: boolean, self: Self): void {
    const source = this.#source(session);
    const entries = new Map(told.map((entry) => [entry.key, entry]));
    for (const key of isFull ? source.keys : []) {
      if (!entries.has(key)) entries.set(key, { key, status: "free", holders: [], waiting: 0 });
    }
    const states = new Map(this.#states);
    const changed: KeyState[] = [];
    for (const [key, entry] of entries) {
      const state = keyStateOf(entry, self);
      if (JSON.stringify(state) === JSON.stringify(states.get(key))) continue;
      changed.push(state);
      const isGone = "prefix" in this.what && state.status === "free" && state.waiting === 0;
      if (isGone) states.delete(key);
      else states.set(key, state);
      source.keys[isGone ? "delete" : "add"](key);
    }
    const wasCurrent = source.isCurrent;
    source.isCurrent = true;
    if (changed.length > 0) this.#states = states;
    if (changed.length > 0 || !wasCurrent) this.#changed(changed);
  }

  #source(session: object): Source {
    let source = this.#sources.get(session);
    if (source === undefined) this.#sources.set(session, (source = { keys: new Set(), isCurrent: false }));
    return source;
  }

  #changed(detail: readonly KeyState[]): void {
    this.#target.dispatchEvent(new CustomEvent("change", { detail }));
  }
}
