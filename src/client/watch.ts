/**
 * Keys that are watched, each as the server told of it last. What is here is what a program looks at; how it is told comes from
 * `watching.ts`, which is loaded with the first watch.
 */

import { dispose } from "./dispose.ts";
import { onAbort } from "./signals.ts";
import type { KeyState, Watch, Watched, WatchListener } from "./watch-types.ts";

export class KeyWatch implements Watch {
  readonly watched: Watched;
  states: ReadonlyMap<string, KeyState> = new Map();
  isCurrent = false;
  /** Gets the events. */
  readonly target: EventTarget = new EventTarget();
  readonly #end = new AbortController();
  /** Aborts when the watch is closed. The reason is null, or the error that it was closed for. */
  readonly over: AbortSignal = this.#end.signal;

  constructor(watched: Watched, signal: AbortSignal | undefined) {
    this.watched = watched;
    onAbort(signal, () => this.close());
  }

  get state(): KeyState | undefined {
    // With a prefix there is none of this name.
    return this.states.get(this.watched as string);
  }

  addEventListener(type: "change", listener: WatchListener): void {
    this.target.addEventListener(type, listener as EventListener);
  }

  removeEventListener(type: "change", listener: WatchListener): void {
    this.target.removeEventListener(type, listener as EventListener);
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

  close(error: Error | null = null): void {
    this.#end.abort(error);
  }

  [dispose](): void {
    this.close();
  }
}
