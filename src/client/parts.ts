/**
 * The sessions of a client whose space is spread over several parts, each opened when one of its keys is asked for first. Few
 * spaces are, so this is loaded when a server says so.
 */

import { LIST_COUNT_DEFAULT } from "../protocol/limits.ts";
import type { ListFrame } from "../protocol/server-frames.ts";
import { partOf } from "../protocol/spread.ts";
import type { Addition } from "./addition.ts";
import type { KeyList, ListOptions } from "./locks.ts";
import type { SessionClient } from "./session-client.ts";
import type { ConnectionStatus } from "./session-types.ts";
import { keyListOf } from "./told.ts";
import type { Watched } from "./watch-types.ts";

/** From the best to the worst: the client is as well off as its worst session. */
const STATUSES: readonly ConnectionStatus[] = ["connected", "connecting", "reconnecting", "closed"];

export class Parts<Added extends Addition> {
  readonly #open: (partOf: (url: string) => string) => SessionClient<Added>;
  readonly #sessions: Map<number, SessionClient<Added>>;
  readonly #spread: number;

  /** `open`: opens a session at an address that is made of the first one's. */
  constructor(first: SessionClient<Added>, open: (partOf: (url: string) => string) => SessionClient<Added>) {
    this.#open = open;
    this.#spread = first.machine.spread;
    this.#sessions = new Map([[0, first]]);
  }

  get connection(): ConnectionStatus {
    const worst = Math.max(...[...this.#sessions.values()].map(({ machine }) => STATUSES.indexOf(machine.status)));
    return STATUSES[worst] ?? "closed";
  }

  of(key: string): SessionClient<Added> {
    return this.#session(partOf(key, this.#spread));
  }

  /** Those that tell of it. */
  telling(watched: Watched): readonly SessionClient<Added>[] {
    return typeof watched === "string" ? [this.of(watched)] : this.#all();
  }

  /** The pages of all parts make one: the first of all of them are the first of the space. */
  async list(options: ListOptions): Promise<KeyList> {
    const { count = LIST_COUNT_DEFAULT } = options;
    const pages = await Promise.all(
      this.#all().map(async (session) => keyListOf(await session.request<ListFrame>({ t: "list", ...options }))),
    );
    const all = pages.flatMap(({ keys }) => keys).sort((a, b) => (a.key < b.key ? -1 : 1));
    const keys = all.slice(0, count);
    const last = keys.at(-1);
    const goesOn = all.length > keys.length || pages.some(({ next }) => next !== undefined);
    return goesOn && last !== undefined ? { keys, next: last.key } : { keys };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.closeOwn()));
  }

  #all(): SessionClient<Added>[] {
    return Array.from({ length: this.#spread }, (_, part) => this.#session(part));
  }

  #session(part: number): SessionClient<Added> {
    const known = this.#sessions.get(part);
    if (known !== undefined) return known;
    const session = this.#open((url) => {
      const address = new URL(url);
      address.searchParams.set("part", String(part));
      return address.href;
    });
    this.#sessions.set(part, session);
    return session;
  }
}
