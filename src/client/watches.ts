/** The watches of one session: asked for anew in each connection, since a server forgets them with the old one. */

import type { ClientFrame } from "../protocol/frames.ts";
import type { RefusedFrame } from "../protocol/server-frames.ts";
import type { StateFrame, UnwatchedFrame } from "../protocol/watch-told.ts";
import { errorOf, UnavailableError } from "./errors.ts";
import type { OnError } from "./locks.ts";
import type { ConnectionStatus } from "./session-types.ts";
import type { Self } from "./told-state.ts";
import type { KeyWatch } from "./watch.ts";

export type WatchAsk = Extract<ClientFrame, { t: "watch" | "unwatch" }>;

/** What the server says with the id of a watch. */
export type WatchTold = StateFrame | UnwatchedFrame | RefusedFrame;

/** No claim's id begins so. */
const MARK = "~";

export function isOfWatch(id: string): boolean {
  return id.startsWith(MARK);
}

interface WatchesSettings {
  /** Nothing comes of it without a connection. */
  send(frame: WatchAsk): void;
  /** Calls `run` a little later. */
  later(run: () => void): void;
  self(): Self;
  readonly onError: OnError;
}

export class Watches {
  readonly #settings: WatchesSettings;
  readonly #watches = new Map<string, KeyWatch>();
  #serial = 0;
  #isClosed = false;

  constructor(settings: WatchesSettings) {
    this.#settings = settings;
  }

  /** Returns what ends it. */
  readonly start = (watch: KeyWatch): (() => void) => {
    const id = `${MARK}${++this.#serial}`;
    this.#watches.set(id, watch);
    if (this.#isClosed) watch.close();
    this.#ask(id);
    return () => {
      if (this.#watches.delete(id)) this.#settings.send({ t: "unwatch", id });
    };
  };

  connection(status: ConnectionStatus): void {
    this.#isClosed = status === "closed";
    for (const [id, watch] of this.#watches) {
      if (status === "connected") this.#ask(id);
      else if (status === "closed") watch.close();
      else watch.away(this);
    }
  }

  received(told: WatchTold): void {
    const watch = this.#watches.get(told.id);
    if (watch === undefined) return;
    if (told.t === "state") watch.told(this, told.keys, told.full === true, this.#settings.self());
    else if (told.t === "refused") this.#refused(told, watch);
  }

  #refused(told: RefusedFrame, watch: KeyWatch): void {
    const { id, code } = told;
    // It was asked for again when a new connection had done so already.
    if (code === "request_mismatch") return;
    const error = errorOf(told, "");
    this.#settings.onError(error, { where: "watch" });
    // Whatever else it was, the server could not serve for now.
    if (error instanceof UnavailableError) this.#settings.later(() => this.#ask(id));
    else if (this.#watches.delete(id)) watch.close(error);
  }

  #ask(id: string): void {
    const watch = this.#watches.get(id);
    if (watch !== undefined) this.#settings.send({ t: "watch", id, ...watch.what });
  }
}
