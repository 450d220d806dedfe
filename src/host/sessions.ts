/**
 * Which connection speaks for which session of a space. A session that has neither a connection nor somebody who is
 * about to resume it is dropped; whatever else happens to old sockets changes nothing.
 */

import type { Command, Effect } from "../core/index.ts";
import { isSameSecret } from "./auth.ts";
import type { Told } from "./wire.ts";

/** The side of a connection that a session's news come to. */
export interface SessionLine {
  readonly isClosed: boolean;
  /** The secret with which the session can be resumed. */
  readonly secret: string;
  opened(effect: Extract<Effect, { kind: "opened" | "resumed" }>): void;
  /** The session is unknown, or there are too many. */
  refused(effect: Extract<Effect, { kind: "refused" }>): void;
  tell(effect: Told): void;
  ended(effect: Extract<Effect, { kind: "session_ended" }>): void;
  takenOver(): void;
  stopped(): void;
}

interface Seat {
  line: SessionLine | undefined;
  /** Those whose `open` or `resume` is not answered yet, in order of asking. */
  entering: readonly SessionLine[];
  /** Whether the engine knows the session, as far as we were told. */
  isLive: boolean;
}

const NOBODY: readonly SessionLine[] = [];

export class Sessions {
  readonly #submit: (command: Command) => void;
  readonly #seats: Map<string, Seat> = new Map();

  constructor(submit: (command: Command) => void) {
    this.#submit = submit;
  }

  /** Sessions that have a connection here, or are about to. */
  get count(): number {
    return this.#seats.size;
  }

  get isEmpty(): boolean {
    return this.#seats.size === 0;
  }

  open(line: SessionLine, command: Extract<Command, { kind: "open" }>): void {
    this.#enter(line, command.session);
    this.#submit(command);
  }

  /** False: the secret is wrong. Where it is known here, nobody with a wrong one gets as far as to delay a drop. */
  resume(line: SessionLine, command: Extract<Command, { kind: "resume" }>): boolean {
    const seated = this.#seats.get(command.session)?.line;
    if (seated !== undefined && !isSameSecret(command.secret, seated.secret)) return false;
    this.#enter(line, command.session);
    this.#submit(command);
    return true;
  }

  /** The session was opened in an earlier life of this program, and its connection lives. */
  seat(line: SessionLine, session: string): void {
    this.#seats.set(session, { line, entering: NOBODY, isLive: true });
  }

  isSeated(session: string): boolean {
    return this.#seats.get(session)?.line !== undefined;
  }

  /** Ends the connections whose sessions the store does not know. */
  restored(known: ReadonlySet<string>): void {
    for (const [session, { line, isLive }] of this.#seats) {
      if (line === undefined || !isLive || known.has(session)) continue;
      this.lifecycle({ kind: "session_ended", to: session, reason: "dropped" });
    }
  }

  /** The connection is over. */
  left(line: SessionLine, session: string): void {
    const seat = this.#seats.get(session);
    if (seat?.line !== line) return;
    seat.line = undefined;
    this.#settle(session, seat);
  }

  /** Another process speaks for the session; whoever is about to resume it here comes after that. */
  moved(session: string): void {
    const seat = this.#seats.get(session);
    if (seat === undefined) return;
    const { line } = seat;
    seat.isLive = false;
    seat.line = undefined;
    this.#settle(session, seat);
    line?.takenOver();
  }

  lifecycle(effect: Extract<Effect, { kind: "opened" | "resumed" | "session_ended" }>): void {
    const seat = this.#seats.get(effect.to);
    if (seat === undefined) return;
    if (effect.kind === "session_ended") {
      const { line } = seat;
      seat.isLive = false;
      seat.line = undefined;
      this.#settle(effect.to, seat);
      line?.ended(effect);
      return;
    }
    seat.isLive = true;
    const line = entered(seat);
    // One that closed while it was entering takes nothing over.
    if (line === undefined || line.isClosed) {
      this.#settle(effect.to, seat);
      return;
    }
    const before = seat.line;
    seat.line = line;
    before?.takenOver();
    line.opened(effect);
  }

  effect(effect: Told): void {
    const seat = this.#seats.get(effect.to);
    // Request ids are never empty: this is the answer to an `open` or a `resume`.
    if (effect.kind === "refused" && effect.request === "" && seat !== undefined) {
      const line = entered(seat);
      this.#settle(effect.to, seat);
      line?.refused(effect);
      return;
    }
    // A suspended session has nobody to tell: its resume will show what became of its claims.
    seat?.line?.tell(effect);
  }

  stopped(): void {
    const seats = [...this.#seats.values()];
    this.#seats.clear();
    for (const { line, entering } of seats) {
      line?.stopped();
      for (const entrant of entering) entrant.stopped();
    }
  }

  #enter(line: SessionLine, session: string): void {
    const seat = this.#seats.get(session);
    if (seat === undefined) this.#seats.set(session, { line: undefined, entering: [line], isLive: false });
    else seat.entering = [...seat.entering, line];
  }

  /** Drops the session when nobody speaks for it any more. */
  #settle(session: string, seat: Seat): void {
    if (seat.line !== undefined || seat.entering.length > 0) return;
    this.#seats.delete(session);
    if (seat.isLive) this.#submit({ kind: "drop", session });
  }
}

/** The one whose answer this is. */
function entered(seat: Seat): SessionLine | undefined {
  const [line, ...others] = seat.entering;
  seat.entering = others.length === 0 ? NOBODY : others;
  return line;
}
