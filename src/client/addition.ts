/** What a session can do beside locks, plugged in by who wants it, so that nobody else's program has to carry it. */

import type { ClaimBook } from "./claim-book.ts";
import type { ClaimFrame } from "./claim-answers.ts";
import type { Ports } from "./clock.ts";
import type { ErrorOf } from "./errors.ts";
import type { OnError } from "./locks.ts";
import type { Answer, Ask, Call, Entry } from "./session-types.ts";

export interface Addition {
  /** Of every refusal, those of locks as well. */
  readonly errorOf: ErrorOf;
  /** Whether the frame is its own: then it is served. */
  received(book: ClaimBook, frame: ClaimFrame, entry: Entry | undefined): boolean;
  /** The session is over, or not believed in any more. */
  allLost(book: ClaimBook, reason: "dropped" | "closed"): void;
  /** After a resume, which was asked for at `helloAt`: how a request that is no lock's stands has to be asked for. */
  askAgain(book: ClaimBook, entry: Entry, helloAt: number): void;
}

/** Makes an addition for a session. */
export type Plug<Added extends Addition> = (link: SessionLink) => Added;

/** What an addition needs of its session. */
export interface SessionLink {
  readonly ports: Ports;
  readonly now: () => number;
  readonly onError: OnError;
  /** The frame says which answer, so the caller says the type. */
  request<Told extends Answer>(frame: Asked): Promise<Told>;
  /** Rejects with the signal's reason, and withdraws the request, when that aborts. `give`: what is made of the answer, before anything else is heard. */
  wait<Given>(asking: Asking, give?: (told: never) => Given, signal?: AbortSignal): Promise<Given>;
  /** What is asked and held, after a look at the clock: whatever is over by it is over. */
  book<T>(use: (book: ClaimBook) => T): T;
}

/** Makes the record of a request. */
export type Asking = (book: ClaimBook, call: Call) => Entry;

export type Asked = Exclude<Ask, { t: "acquire" }>;
