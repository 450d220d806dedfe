/** One key, or all keys with a prefix, and everybody who watches it. */

import type { StateTexts } from "./news.ts";

/** What is watched; with the names that keys have inside. */
export type Target = { readonly key: string; readonly prefix?: undefined } | { readonly prefix: string };

/** Of what is told in the telling of all that is watched. */
export interface Place {
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** Somebody who watches. */
export interface Watcher {
  /** Whose place in the queue is told, and whose asks; undefined: nobody's. */
  readonly session: string | undefined;
  /** Whether that session may be waiting for anything. */
  mayWait(): boolean;
  /** `place`: of the first state, which was asked for; without it this is news. */
  tell(texts: StateTexts, place?: Place): void;
  /** It cannot be watched: with more live keys than may be, or while nobody can say what is there. */
  refused(why: "limit" | "unavailable"): void;
  /** The space has stopped, or takes no more work: nothing comes any more. */
  over(): void;
}

export class Watch {
  readonly topic: Topic;
  readonly watcher: Watcher;
  /** It has its first state: what comes after that is news. */
  isOpen = false;
  /** Of these the others were told while its first state was under way. */
  readonly missed: Set<string> = new Set();

  constructor(topic: Topic, watcher: Watcher) {
    this.topic = topic;
    this.watcher = watcher;
  }
}

export class Topic {
  readonly target: Target;
  readonly watches: Set<Watch> = new Set();
  /** Keys that changed since they were told. */
  readonly dirty: Set<string> = new Set();
  /** Any key may have changed. */
  isAllDirty = false;
  /** While it is being told nothing more is: what changes meanwhile is told next. */
  isBusy = false;
  /** When it was told last. */
  toldAt: number = Number.NEGATIVE_INFINITY;
  /** Keys of a prefix that somebody was told to be in use. */
  readonly #shown: Set<string> = new Set();
  /** Watches go on from an earlier life of this program, and nobody knows what they were told. */
  #isForgetful = false;

  constructor(target: Target) {
    this.target = target;
  }

  get isDirty(): boolean {
    return this.isAllDirty || this.dirty.size > 0;
  }

  goesOn(): void {
    this.#isForgetful = true;
  }

  /** Sessions whose places are to be looked up. */
  sessions(): string[] {
    const sessions = new Set<string>();
    for (const { watcher } of this.watches) {
      if (watcher.session !== undefined && watcher.mayWait()) sessions.add(watcher.session);
    }
    return [...sessions];
  }

  /** Whether the watchers learn anything from this: a key that came and went between two tellings was never there for them. */
  isNews(key: string, isLive: boolean): boolean {
    if (this.target.prefix === undefined) return true;
    if (isLive) {
      this.#shown.add(key);
      return true;
    }
    return this.#shown.delete(key) || this.#isForgetful;
  }

  /** Those of which somebody was told, and that are not among these. */
  gone(live: ReadonlySet<string>): string[] {
    return [...this.#shown].filter((key) => !live.has(key));
  }
}
