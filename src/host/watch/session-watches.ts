/** What one session watches, each under the id that it chose. They end with its connection. */

import { WATCHES_MAX } from "../../protocol/limits.ts";
import type { ServerFrame } from "../../protocol/server-frames.ts";
import type { WatchFrame } from "../../protocol/watch-frames.ts";
import type { Outlet } from "../outlet.ts";
import type { HostParts } from "../parts.ts";
import { refusedFrame } from "../wire.ts";
import type { StateTexts } from "./news.ts";
import type { Place, Target, Watch, Watcher } from "./topic.ts";
import type { Watches } from "./watches.ts";

/** As kept where the program's memory can vanish. */
export interface WatchMemory {
  readonly id: string;
  /** With the names that keys have inside. */
  readonly target: Target;
}

/** Where the session is told, and what it is. */
export interface Listener {
  readonly session: string;
  /** Whether it may be waiting for anything. */
  mayWait(): boolean;
  readonly outlet: Pick<Outlet, "send" | "sendText" | "sendAsked">;
  /** What is watched is another than before. */
  onChanged(): void;
}

/** Of the 16 384 bytes that are kept with a sleeping socket; the rest is for the session itself. A code unit may take two. */
const KEPT_BYTES_MAX = 12_000;
const KEPT_EACH_BYTES = 48;

/** What changed is told alone. */
const CHANGE: Place = { isFirst: false, isLast: true };

export class SessionWatches {
  readonly #parts: HostParts;
  readonly #hub: Watches;
  readonly #listener: Listener;
  readonly #watches: Map<string, Watch> = new Map();

  constructor(parts: HostParts, hub: Watches, listener: Listener) {
    this.#parts = parts;
    this.#hub = hub;
    this.#listener = listener;
  }

  /** Undefined: the answer comes when the state is known. */
  watch({ id, key, prefix }: WatchFrame): ServerFrame | undefined {
    const { keys } = this.#parts;
    if (this.#watches.has(id)) return refusedFrame(id, "request_mismatch", "this id watches already");
    if (this.#watches.size >= WATCHES_MAX) return tooMany(id);
    const target = prefix === undefined ? { key: keys.inward(key ?? "") } : { prefix: keys.inward(prefix) };
    const bytes = [...this.remembered(), { id, target }].reduce((sum, watch) => sum + bytesOf(watch), 0);
    if (this.#parts.hibernation !== undefined && bytes > KEPT_BYTES_MAX) return tooMany(id);
    this.#watches.set(id, this.#hub.open(target, this.#watcher(id)));
    this.#listener.onChanged();
    return undefined;
  }

  unwatch(id: string): ServerFrame {
    const watch = this.#watches.get(id);
    if (watch !== undefined) this.#hub.close(watch);
    if (this.#watches.delete(id)) this.#listener.onChanged();
    return { t: "unwatched", id };
  }

  /** From an earlier life of this program. */
  goOn(memory: readonly WatchMemory[]): void {
    for (const { id, target } of memory) this.#watches.set(id, this.#hub.goOn(target, this.#watcher(id)));
  }

  remembered(): WatchMemory[] {
    return [...this.#watches].map(([id, { topic }]) => ({ id, target: topic.target }));
  }

  /** The connection is over. */
  over(): void {
    for (const watch of this.#watches.values()) this.#hub.close(watch);
    this.#watches.clear();
  }

  #watcher(id: string): Watcher {
    const listener = this.#listener;
    const begin = `{"t":"state","id":${JSON.stringify(id)},"keys":[`;
    return {
      session: listener.session,
      mayWait: () => listener.mayWait(),
      tell: (texts: StateTexts, place?: Place) => {
        const { isFirst, isLast } = place ?? CHANGE;
        const marks = (isFirst ? ',"full":true' : "") + (isLast ? "" : ',"more":true');
        const text = `${begin}${texts.joined}]${marks}}`;
        if (place === undefined) listener.outlet.sendText(text);
        else listener.outlet.sendAsked(text);
      },
      refused: (why) => {
        this.#watches.delete(id);
        listener.onChanged();
        listener.outlet.send(
          why === "limit" ? tooManyKeys(id) : refusedFrame(id, "unavailable", "nobody can say what is there"),
        );
      },
      // The session itself ends, and says so.
      over: () => void this.#watches.delete(id),
    };
  }
}

function tooMany(id: string): ServerFrame {
  return refusedFrame(
    id,
    "limit",
    `a session has at most ${WATCHES_MAX} watches, on some servers fewer of long keys`,
    "watches",
  );
}

function tooManyKeys(id: string): ServerFrame {
  return refusedFrame(id, "limit", "too many live keys have this prefix", "watched_keys");
}

function bytesOf({ id, target }: WatchMemory): number {
  return KEPT_EACH_BYTES + 2 * (id.length + (target.prefix ?? target.key).length);
}
