/** The states of some keys as texts: one for all watchers, and another for those who may see more, or have a place in the queue. */

import type { KeyStatus } from "../../core/index.ts";
import type { KeyState } from "../../protocol/watch-told.ts";
import type { Wire } from "../wire.ts";

/** States of keys, each as JSON. Written once, however many are told. */
export class StateTexts {
  readonly entries: readonly string[];
  #joined: string | undefined;
  #events: Uint8Array | undefined;

  constructor(entries: readonly string[]) {
    this.entries = entries;
  }

  /** With commas between them. */
  get joined(): string {
    this.#joined ??= this.entries.join(",");
    return this.#joined;
  }

  /** As server-sent events. JSON has no line breaks. */
  get events(): Uint8Array {
    this.#events ??= new TextEncoder().encode(this.entries.map((text) => `event: state\ndata: ${text}\n\n`).join(""));
    return this.#events;
  }
}

export class News {
  readonly #statuses: readonly KeyStatus[];
  readonly #wire: Wire;
  readonly #common: StateTexts;
  /** Sessions for which some key looks different, with what they are told; made when it is first asked for. */
  readonly #private: Map<string, StateTexts | undefined> = new Map();

  constructor(statuses: readonly KeyStatus[], wire: Wire) {
    this.#statuses = statuses;
    this.#wire = wire;
    this.#common = new StateTexts(statuses.map((status) => JSON.stringify(wire.key(status))));
    for (const status of statuses) for (const session of insidersOf(status)) this.#private.set(session, undefined);
  }

  /** Undefined: for one that is no session. */
  for(session: string | undefined): StateTexts {
    if (session === undefined || !this.#private.has(session)) return this.#common;
    const texts = this.#private.get(session) ?? this.#write(session);
    this.#private.set(session, texts);
    return texts;
  }

  #write(session: string): StateTexts {
    const { entries } = this.#common;
    return new StateTexts(
      this.#statuses.map((status, i) => {
        const state = stateFor(session, status, this.#wire);
        return state === undefined ? (entries[i] as string) : JSON.stringify(state);
      }),
    );
  }
}

/** Those for whom the status has more than for everybody. */
function insidersOf({ places, holders, asks }: KeyStatus): string[] {
  const waiting = places?.map(({ session }) => session) ?? [];
  if (asks === undefined) return waiting;
  return [...waiting, ...holders.flatMap(({ session }) => session ?? [])];
}

/** Undefined: nothing but what everybody may see. */
function stateFor(session: string, status: KeyStatus, wire: Wire): KeyState | undefined {
  const position = status.places?.find((place) => place.session === session)?.position;
  const isHolder = status.holders.some((holder) => holder.session === session);
  const asks = isHolder ? wire.asks(status) : undefined;
  if (position === undefined && asks === undefined) return undefined;
  return {
    ...wire.key(status),
    ...(position === undefined ? undefined : { position }),
    ...(asks === undefined ? undefined : { asks }),
  };
}
