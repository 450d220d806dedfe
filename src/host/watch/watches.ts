/**
 * Everything that is watched in one space. Of each topic its watchers are told the latest state, at most every so often, and never
 * each step to it: what a thousand of them cost does not grow with how often the key changes.
 */

import type { KeyStatus } from "../../core/index.ts";
import { STATE_KEYS_MAX, WATCH_INTERVAL_MS } from "../../protocol/limits.ts";
import type { Calls } from "../calls.ts";
import type { LockPort } from "../lock-port.ts";
import type { HostParts } from "../parts.ts";
import { News } from "./news.ts";
import { StateReader } from "./reader.ts";
import { type Target, type Topic, Watch, type Watcher } from "./topic.ts";
import { Topics } from "./topics.ts";

/** While nobody can say what is there, it is asked again so often. */
const RETRY_MS = 1000;

export class Watches {
  readonly #parts: HostParts;
  readonly #reader: StateReader;
  readonly #port: () => LockPort;
  readonly #topics = new Topics();
  /** Topics with something to tell, as soon as they may. */
  readonly #due: Set<Topic> = new Set();
  #wakeAt = Number.POSITIVE_INFINITY;
  #stop: (() => void) | undefined;
  #count = 0;
  #isOver = false;

  constructor(parts: HostParts, calls: Calls, port: () => LockPort) {
    this.#parts = parts;
    this.#reader = new StateReader(calls);
    this.#port = port;
  }

  get count(): number {
    return this.#count;
  }

  /** The watcher is told what there is now, in full, and then what changes, until `close`. */
  open(target: Target, watcher: Watcher): Watch {
    const watch = this.#enter(target, watcher);
    this.#tellFirst(watch).catch((error: unknown) => this.#parts.onError(error, { where: "watch" }));
    return watch;
  }

  /** One from an earlier life of this program: it was told before what there is. */
  goOn(target: Target, watcher: Watcher): Watch {
    const watch = this.#enter(target, watcher);
    watch.isOpen = true;
    watch.topic.goesOn();
    return watch;
  }

  /** Nothing comes any more. A second time does nothing. */
  close(watch: Watch): void {
    const { topic } = watch;
    if (!topic.watches.delete(watch)) return;
    this.#count--;
    if (topic.watches.size > 0) return;
    this.#topics.remove(topic);
    this.#due.delete(topic);
    if (!this.#topics.isEmpty) return;
    this.#stop?.();
    this.#stop = undefined;
    // Perhaps nobody else listened to the space: it is to look whether it is still needed.
    if (!this.#isOver) this.#port().submit({ kind: "tick" });
  }

  /** The space has stopped. Sends everybody away. */
  over(): void {
    this.#isOver = true;
    const watches = [...this.#topics].flatMap((topic) => [...topic.watches]);
    for (const watch of watches) this.close(watch);
    for (const { watcher } of watches) watcher.over();
  }

  #enter(target: Target, watcher: Watcher): Watch {
    const topic = this.#topics.at(target);
    const watch = new Watch(topic, watcher);
    topic.watches.add(watch);
    this.#count++;
    this.#stop ??= this.#port().watch((keys) => this.#touched(keys));
    return watch;
  }

  async #tellFirst(watch: Watch): Promise<void> {
    const { topic, watcher } = watch;
    const { target } = topic;
    const of = watcher.session !== undefined && watcher.mayWait() ? [watcher.session] : [];
    const found =
      target.prefix === undefined
        ? await this.#reader.keys([target.key], of)
        : await this.#reader.prefix(target.prefix, of);
    if (!topic.watches.has(watch)) return;
    if (found === undefined || typeof found === "string") {
      this.close(watch);
      watcher.refused(found ?? "unavailable");
      return;
    }
    for (const { key } of found) topic.isNews(key, true);
    watch.isOpen = true;
    const pages = pagesOf(found);
    for (const [i, page] of pages.entries()) {
      const place = { isFirst: i === 0, isLast: i === pages.length - 1 };
      watcher.tell(new News(page, this.#parts.wire).for(watcher.session), place);
    }
    // What was told to the others meanwhile may be newer than this.
    if (watch.missed.size === 0) return;
    for (const key of watch.missed) topic.dirty.add(key);
    watch.missed.clear();
    this.#schedule(topic);
  }

  /** Undefined: any key may have changed. */
  #touched(keys: ReadonlySet<string> | undefined): void {
    if (keys === undefined) {
      for (const topic of this.#topics) this.#touchAll(topic);
      return;
    }
    for (const key of keys) {
      this.#topics.each(key, (topic) => {
        topic.dirty.add(key);
        this.#schedule(topic);
      });
    }
  }

  #touchAll(topic: Topic): void {
    topic.isAllDirty = true;
    this.#schedule(topic);
  }

  #schedule(topic: Topic): void {
    if (topic.isBusy || this.#due.has(topic)) return;
    this.#due.add(topic);
    this.#wake(topic.toldAt + WATCH_INTERVAL_MS);
  }

  /** At the soonest of all that is asked for. */
  #wake(at: number): void {
    const now = this.#parts.clock.now();
    const wakeAt = Math.max(at, now);
    if (wakeAt >= this.#wakeAt) return;
    this.#wakeAt = wakeAt;
    this.#parts.pause(wakeAt - now, () => {
      if (this.#wakeAt !== wakeAt) return;
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.#woken();
    });
  }

  #woken(): void {
    const now = this.#parts.clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const topic of this.#due) {
      const at = topic.toldAt + WATCH_INTERVAL_MS;
      if (at > now) {
        next = Math.min(next, at);
        continue;
      }
      this.#due.delete(topic);
      this.#tellNews(topic, now).catch((error: unknown) => this.#parts.onError(error, { where: "watch" }));
    }
    if (next !== Number.POSITIVE_INFINITY) this.#wake(next);
  }

  async #tellNews(topic: Topic, now: number): Promise<void> {
    topic.isBusy = true;
    topic.toldAt = now;
    const wasAllDirty = topic.isAllDirty;
    const dirty = [...topic.dirty];
    topic.isAllDirty = false;
    topic.dirty.clear();
    const found = await this.#read(topic, wasAllDirty, dirty);
    if (found === undefined) {
      // As if it were told then, which is when it may be again.
      topic.toldAt = this.#parts.clock.now() + RETRY_MS;
      topic.isAllDirty = wasAllDirty;
      for (const key of dirty) topic.dirty.add(key);
      this.#rest(topic);
      return;
    }
    const told = found.filter(({ key, holders, waiting }) => topic.isNews(key, holders.length + waiting > 0));
    this.#fanOut(topic, told);
  }

  async #read(topic: Topic, isAll: boolean, dirty: readonly string[]): Promise<readonly KeyStatus[] | undefined> {
    const { target } = topic;
    const of = topic.sessions();
    if (target.prefix === undefined) return this.#reader.keys([target.key], of);
    if (!isAll) return this.#reader.keys(dirty, of);
    const listed = await this.#reader.prefix(target.prefix, of);
    if (listed === "unavailable") return undefined;
    // It has grown since: of those that are in use now the watchers learn as they change.
    if (listed === "limit") return this.#reader.keys(new Set([...topic.gone(new Set()), ...dirty]), of);
    const live = new Set(listed.map(({ key }) => key));
    const gone = new Set([...topic.gone(live), ...dirty.filter((key) => !live.has(key))]);
    const rest = await this.#reader.keys(gone, of);
    return rest && [...listed, ...rest];
  }

  #fanOut(topic: Topic, told: readonly KeyStatus[]): void {
    if (told.length === 0) return this.#rest(topic);
    const news = pagesOf(told).map((page) => new News(page, this.#parts.wire));
    const watches = [...topic.watches].filter((watch) => {
      if (!watch.isOpen) for (const { key } of told) watch.missed.add(key);
      return watch.isOpen;
    });
    let next = 0;
    this.#parts.fanOut.add(() => {
      const watch = watches[next++];
      if (watch === undefined) {
        this.#rest(topic);
        return false;
      }
      if (!topic.watches.has(watch)) return true;
      for (const some of news) watch.watcher.tell(some.for(watch.watcher.session));
      return true;
    });
  }

  #rest(topic: Topic): void {
    topic.isBusy = false;
    if (topic.isDirty && topic.watches.size > 0) this.#schedule(topic);
  }
}

/** In as many as fit in one telling; the first one may be empty. */
function pagesOf<T>(all: readonly T[]): (readonly T[])[] {
  const pages = [all.slice(0, STATE_KEYS_MAX)];
  for (let from = STATE_KEYS_MAX; from < all.length; from += STATE_KEYS_MAX)
    pages.push(all.slice(from, from + STATE_KEYS_MAX));
  return pages;
}
