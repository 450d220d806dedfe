/**
 * What a turn of the host tells its sockets, and when it leaves. A socket write costs more than all the rest of a frame, so
 * all that one turn tells one peer leaves together; whoever was told first is served first. A peer that is not the one being
 * served does not wait for the rest of that one's batch: whom a release makes the holder is told at once.
 */

/** The side of a connection that news are kept at. */
export interface Departing {
  /** Sends what waits. */
  depart(): void;
}

export class Departures {
  readonly #waiting: Departing[] = [];
  readonly #later: ((work: () => void) => void) | undefined;
  #turns = 0;
  /** A socket has closed in this turn of the event loop. */
  #isClosing = false;

  /** `later`: as in HostPorts. */
  constructor(later?: (work: () => void) => void) {
    this.#later = later;
  }

  /** Calls `depart` once, at the end of the present turn. */
  add(departing: Departing): void {
    this.#waiting.push(departing);
    // News that no socket or timer brought about: a commit that took its time, or an HTTP call.
    if (this.#turns === 0 && this.#waiting.length === 1) queueMicrotask(() => this.#flush());
  }

  /** One frame of a batch is served, and more follow: all but its sender are told now. */
  next(sender: Departing): void {
    let kept = 0;
    for (let i = 0; i < this.#waiting.length; i++) {
      const departing = this.#waiting[i] as Departing;
      if (departing === sender) this.#waiting[kept++] = departing;
      else departing.depart();
    }
    this.#waiting.length = kept;
  }

  /** Everything between `begin` and `end` is one turn. Turns may lie within each other. */
  begin(): void {
    this.#turns += 1;
  }

  end(): void {
    this.#turns -= 1;
    if (this.#turns === 0) this.#flush();
  }

  /**
   * In the place of `end`, for a socket that closed. Where one closes others often do, each in a turn of its own, and the same peer may
   * wait for many of them: what the first brings about leaves at once, and that of the others together when all are closed.
   */
  endOfClose(): void {
    if (this.#later === undefined || this.#turns > 1) return this.end();
    if (this.#isClosing) {
      this.#turns -= 1;
      return;
    }
    this.#isClosing = true;
    this.#later(() => {
      this.#isClosing = false;
      if (this.#turns === 0) this.#flush();
    });
    this.end();
  }

  /** To depart may bring about more: a socket that takes nothing ends its session, and others are told. */
  #flush(): void {
    if (this.#waiting.length === 0) return;
    this.#turns += 1;
    for (let i = 0; i < this.#waiting.length; i++) this.#waiting[i]?.depart();
    this.#waiting.length = 0;
    this.#turns -= 1;
  }
}
