/**
 * Keys that are watched, each as the server told of it last. What is here is what a program looks at; how it is told comes from
 * `watching.ts`, which is loaded with the first watch.
 */

import { dispose } from "./dispose.ts";
import { onAbort } from "./signals.ts";
import type { KeyState, Watch, Watched } from "./watch-types.ts";

/** What an `EventTarget` has, by the events of a watch: `change`, and `contended`, for which see `contention.ts`. */
interface WatchEvents {
  addEventListener(type: "change" | "contended", listener: (event: CustomEvent<never>) => void): void;
  removeEventListener(type: "change" | "contended", listener: (event: CustomEvent<never>) => void): void;
  dispatchEvent(event: Event): boolean;
}

export class KeyWatch extends (EventTarget as unknown as new () => WatchEvents) implements Watch {
  declare readonly watched: Watched;
  states: ReadonlyMap<string, KeyState> = new Map();
  isCurrent = false;
  readonly #end = new AbortController();
  /** Aborts when the watch is closed. The reason is null, or the error that it was closed for. */
  readonly over: AbortSignal = this.#end.signal;

  constructor(watched: Watched, signal: AbortSignal | undefined) {
    super();
    this.watched = watched;
    onAbort(signal, () => this.close());
  }

  get state(): KeyState | undefined {
    // With a prefix there is none of this name.
    return this.states.get(this.watched as string);
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
