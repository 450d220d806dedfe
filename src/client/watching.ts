/** How a watch comes to show what it does: from one session or several, each of which tells of some of the keys. */

import type { StateFrame } from "../protocol/watch-told.ts";
import { tellOfContention } from "./contention.ts";
import type { SessionClient } from "./session-client.ts";
import { onAbort } from "./signals.ts";
import { keyStateOf, type Self } from "./told-state.ts";
import type { KeyWatch } from "./watch.ts";
import type { KeyState, WatchListener } from "./watch-types.ts";
import { Watches } from "./watches.ts";

/** The sessions of the client tell the watch of its keys, until it is closed. */
export async function follow(watch: KeyWatch, client: SessionClient): Promise<void> {
  try {
    // Only then it is known whether the space is spread.
    await client.ready;
  } catch {
    return watch.close();
  }
  const sessions = client.machine.spread > 1 ? (await client.loadParts()).telling(watch.watched) : [client];
  if (watch.over.aborted) return;
  tellOfContention(watch);
  const view = new View(watch);
  for (const session of sessions) {
    const watches = session.book((book) => (book.watches ??= new Watches(session)));
    onAbort(watch.over, watches.start(view));
  }
  onAbort(watch.over, () => show(watch, watch.states, false, []));
}

/** Each key's latest state, until the watch is closed. */
export async function* latest(watch: KeyWatch): AsyncGenerator<KeyState, undefined> {
  const news = new Map(watch.states);
  let wake = (): void => undefined;
  const listener: WatchListener = ({ detail }) => {
    for (const state of detail) news.set(state.key, state);
    wake();
  };
  watch.addEventListener("change", listener);
  const ended = (): void => wake();
  watch.over.addEventListener("abort", ended);
  try {
    while (!watch.over.aborted || news.size > 0) {
      for (const [key, state] of news) {
        news.delete(key);
        yield state;
      }
      if (!watch.over.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    if (watch.over.reason !== null) throw watch.over.reason;
  } finally {
    watch.removeEventListener("change", listener);
    watch.over.removeEventListener("abort", ended);
  }
}

/** What a session tells of. */
interface Source {
  readonly keys: Set<string>;
  isCurrent: boolean;
  /** Frames of a state that is not all there yet. */
  gathered: StateFrame[];
}

/** What is asked of the server. */
type What = { readonly key: string } | { readonly prefix: string };

export class View {
  readonly watch: KeyWatch;
  readonly what: What;
  readonly #sources = new Map<object, Source>();

  constructor(watch: KeyWatch) {
    const { watched } = watch;
    this.watch = watch;
    this.what = typeof watched === "string" ? { key: watched } : { prefix: watched.prefix };
  }

  /** `session` will tell, or its connection is away. */
  away(session: object): void {
    const source = this.#source(session);
    source.isCurrent = false;
    source.gathered = [];
    this.#show(this.watch.states, []);
  }

  /** What a full state does not tell of is free, which is known with its last frame. */
  told(session: object, frame: StateFrame, self: Self): void {
    const source = this.#source(session);
    const { keys, gathered } = source;
    gathered.push(frame);
    if (frame.more === true) return;
    source.gathered = [];
    const entries = new Map(gathered.flatMap((told) => told.keys).map((entry) => [entry.key, entry]));
    for (const key of gathered[0]?.full === true ? keys : []) {
      if (!entries.has(key)) entries.set(key, { key, status: "free", holders: [], waiting: 0 });
    }
    const states = new Map(this.watch.states);
    const changed: KeyState[] = [];
    for (const [key, entry] of entries) {
      const state = keyStateOf(entry, self);
      if (JSON.stringify(state) === JSON.stringify(states.get(key))) continue;
      changed.push(state);
      const isGone = "prefix" in this.what && state.status === "free" && state.waiting === 0;
      if (isGone) states.delete(key);
      else states.set(key, state);
      keys[isGone ? "delete" : "add"](key);
    }
    source.isCurrent = true;
    this.#show(changed.length > 0 ? states : this.watch.states, changed);
  }

  /** Nothing is said where nothing changed. */
  #show(states: ReadonlyMap<string, KeyState>, changed: readonly KeyState[]): void {
    const isCurrent = [...this.#sources.values()].every((source) => source.isCurrent);
    if (changed.length > 0 || isCurrent !== this.watch.isCurrent) show(this.watch, states, isCurrent, changed);
  }

  #source(session: object): Source {
    let source = this.#sources.get(session);
    if (source === undefined)
      this.#sources.set(session, (source = { keys: new Set(), isCurrent: false, gathered: [] }));
    return source;
  }
}

/** From now on it is so. `changed`: the keys that are not as they were. */
function show(
  watch: KeyWatch,
  states: ReadonlyMap<string, KeyState>,
  isCurrent: boolean,
  changed: readonly KeyState[],
): void {
  watch.states = states;
  watch.isCurrent = isCurrent;
  watch.dispatchEvent(new CustomEvent("change", { detail: changed }));
}
