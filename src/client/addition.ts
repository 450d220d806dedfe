/** What a session can do beside locks, plugged in by who wants it, so that nobody else's program has to carry it. */

import type { ClaimBook } from "./claim-book.ts";
import type { ClaimFrame } from "./claim-table.ts";
import type { Ports } from "./clock.ts";
import type { ErrorOf } from "./errors.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { OnError } from "./locks.ts";
import type { SessionMachine } from "./session-machine.ts";
import type { AdditionOutput, Answer, Ask, Entry } from "./session-types.ts";
import type { Waiter } from "./wait.ts";

export interface Addition<Calls extends AdditionCalls> {
  /** Of every refusal, those of locks as well. */
  readonly errorOf: ErrorOf;
  /** Its part in the machine. */
  table<Call>(book: ClaimBook<Call>, heartbeat: Heartbeat): AdditionTable<Call>;
  /** What callers use. */
  calls(link: SessionLink): Calls;
}

export interface AdditionTable<Call> {
  /** Whether the frame is its own: then it is served. */
  received(frame: ClaimFrame, entry: Entry<Call> | undefined): boolean;
  /** The session is over, or not believed in any more. */
  allLost(reason: "dropped" | "closed"): void;
  /** After a resume, which was asked for at `helloAt`: how a request that is no lock's stands has to be asked for. */
  askAgain(entry: Entry<Call>, helloAt: number): void;
}

export interface AdditionCalls {
  heard(output: AdditionOutput): void;
}

/** What an addition needs of its session. */
export interface SessionLink {
  readonly ports: Ports;
  readonly now: () => number;
  readonly onError: OnError;
  /** The frame says which answer, so the caller says the type. */
  request<Told extends Answer>(frame: Asked): Promise<Told>;
  /** Rejects with the signal's reason, and withdraws the request, when that aborts. `give`: what is made of the answer, before anything else is heard. */
  wait<Given>(
    signal: AbortSignal | undefined,
    ask: (call: Waiter, claims: Claims) => Entry<Waiter> | undefined,
    give?: (told: never) => Given,
  ): Promise<Given>;
  /** After a look at the clock: whatever is over by it is over. */
  claims<T>(use: (claims: Claims) => T): T;
}

/** What can be asked in a session. */
export type Claims = ReturnType<SessionMachine<Waiter>["claims"]>;

export type Asked = Exclude<Ask, { t: "acquire" }>;
