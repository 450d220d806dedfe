/**
 * Keys that are watched, each as the server told of it last. What is here is what a program looks at; how it is told comes from
 * `watching.ts`, which is loaded with the first watch.
 */

import { dispose } from "./dispose.ts";
import { onAbort } from "./signals.ts";
import type { KeyState, Watch, Watched, WatchListener } from "./watch-types.ts";

/** What is asked of the server. */
export type What = { readonly key: string } | { readonly prefix: string };

export class KeyWatch implements Watch {
  readonly what: What;
  states: ReadonlyMap<string, KeyState> = new Map();
  isCurrent = false;
  /** Set with its end, when that was not wanted. */
  error: Error | undefined;
  readonly #target = new EventTarget();
  readonly #over = new AbortController();
  /** Aborts when the watch is closed. */
  readonly over: AbortSignal = this.#over.signal;

  constructor(watched: Watched, signal: AbortSignal | undefined) {
    this.what = typeof watched === "string" ? { key: watched } : { prefix: watched.prefix };
    onAbort(signal, () => this.close());
  }

  get state(): KeyState | undefined {
    return "key" in this.what ? this.states.get(this.what.key) : undefined;
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
    const { latest } = await import("./watching.ts");
    yield* latest(this);
  }

  close(error?: Error): void {
    if (this.over.aborted) return;
    this.error = error;
    this.#over.abort();
    this.show(this.states, false, []);
  }

  [dispose](): void {
    this.close();
  }

  /** From now on it is so. `changed`: the keys that are not as they were. */
  show(states: ReadonlyMap<string, KeyState>, isCurrent: boolean, changed: readonly KeyState[]): void {
    this.states = states;
    this.isCurrent = isCurrent;
    this.#target.dispatchEvent(new CustomEvent("change", { detail: changed }));
  }
}
