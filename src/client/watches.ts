/** The watches of one session: asked for anew in each connection, since a server forgets them with the old one. */

import type { ClientFrame } from "../protocol/frames.ts";
import type { RefusedFrame } from "../protocol/server-frames.ts";
import type { ClaimFrame } from "./claim-answers.ts";
import type { ClaimBook } from "./claim-book.ts";
import type { Ports } from "./clock.ts";
import { errorOf, UnavailableError } from "./errors.ts";
import type { OnError } from "./locks.ts";
import type { ConnectionStatus } from "./session-types.ts";
import type { Self } from "./told-state.ts";
import type { View } from "./watching.ts";

/** The pause before a watch is asked for again that the server could not serve, ms. */
const AGAIN_MS = 1_000;

/** The ids of watches begin so, and no claim's does. */
const WATCH_MARK = "~";

type WatchAsk = Extract<ClientFrame, { t: "watch" | "unwatch" }>;

/** What they need of their session. */
export interface WatchesLink extends Self {
  readonly machine: { readonly status: ConnectionStatus };
  readonly ports: Ports;
  readonly onError: OnError;
  book<T>(use: (book: ClaimBook) => T): T;
}

export class Watches {
  readonly #session: WatchesLink;
  readonly #views = new Map<string, View>();
  #serial = 0;

  constructor(session: WatchesLink) {
    this.#session = session;
  }

  /** Returns what ends it. */
  start(view: View): () => void {
    const id = `${WATCH_MARK}${++this.#serial}`;
    this.#views.set(id, view);
    view.away(this);
    if (this.#session.machine.status === "closed") view.watch.close();
    else this.#ask(id);
    return () => {
      if (this.#views.delete(id)) this.#tell({ t: "unwatch", id });
    };
  }

  connection(status: ConnectionStatus): void {
    for (const [id, view] of this.#views) {
      if (status === "connected") this.#ask(id);
      else if (status === "closed") view.watch.close();
      else view.away(this);
    }
  }

  /** Whether the frame is about a watch: then it is told when the step is over. */
  received(book: ClaimBook, told: ClaimFrame): boolean {
    const view = this.#views.get(told.id);
    if (view === undefined) return false;
    book.afterStep(() => {
      if (told.t === "state") view.told(this, told, this.#session);
      else if (told.t === "refused") this.#refused(told, view);
    });
    return true;
  }

  #refused(told: RefusedFrame, view: View): void {
    const { id, code } = told;
    // It was asked for again when a new connection had done so already.
    if (code === "request_mismatch") return;
    const error = errorOf(told);
    this.#session.onError(error, { where: "watch" });
    // Whatever else it was, the server could not serve for now.
    if (error instanceof UnavailableError) this.#session.ports.timer(AGAIN_MS, () => this.#ask(id), true);
    else if (this.#views.delete(id)) view.watch.close(error);
  }

  #ask(id: string): void {
    const view = this.#views.get(id);
    if (view !== undefined) this.#tell({ t: "watch", id, ...view.what });
  }

  /** Without a connection nothing is sent: the next one asks anew. */
  #tell(frame: WatchAsk): void {
    this.#session.book((book) => {
      if (book.session !== undefined) book.send(JSON.stringify(frame));
    });
  }
}
