import { NEVER } from "./clock.ts";
import { leaseUntil } from "./lease.ts";

/** How long the proof that a connection lives may take, ms. */
const PROBE_MS = 3_000;
const LATE_MS = 500;

/**
 * What the client knows about the life of its session on the server.
 *
 * Let s be the send time of the last frame of ours that we know was heard: the hello that was welcomed, or the pong
 * that was acked. (Acks come in the order of the pongs, so the oldest unacked pong is the one an ack is for. When in
 * doubt that is the earlier one, which is the safe side.) The server heard it at h >= s, and ends the session on close or on
 * silence: not before h + deadline >= s + deadline, as long as nobody closes. A close ends it at once, so a close that we see
 * means that all is lost now; with a grace see `resume.ts`.
 *
 * Hence: a connection without an ack since s is dead at `deadAt` = s + deadline - margin.
 *
 * A deadline of 0 means that there is no heartbeat, because both ends are in one process: the socket cannot vanish without
 * a close, and both ends learn of that at once.
 */
export class Heartbeat {
  /** The send time of the last frame that the server is known to have heard. */
  heardAt = 0;
  /** Undefined: there is no heartbeat. */
  #deadlineMs: number | undefined;
  #pongsAt: number[] = [];
  /** When the connection was asked last to prove itself. */
  #probedAt = 0;

  get deadAt(): number {
    return leaseUntil(this.heardAt, this.#deadlineMs);
  }

  /** When a connection that was probed is dead, unless something that was sent since is acked. */
  get provenBy(): number {
    return this.#isProven ? NEVER : this.#probedAt + PROBE_MS;
  }

  /** A new connection: no pong of the old one will be acked. */
  reconnected(): void {
    this.#pongsAt = [];
  }

  welcomed(helloAt: number, deadlineMs: number): void {
    this.heardAt = helloAt;
    this.#deadlineMs = deadlineMs || undefined;
  }

  get #isProven(): boolean {
    return this.heardAt >= this.#probedAt;
  }

  /** A pong is sent as a probe. False: nothing has to be sent, because the last probe is under way, or because there is no heartbeat. */
  probed(now: number): boolean {
    if (!this.#deadlineMs || (!this.#isProven && now < this.provenBy)) return false;
    this.#probedAt = now;
    return true;
  }

  /** Whether this look at the clock comes so late that an ack may be there and unread: then it proves nothing. */
  isLate(now: number): boolean {
    return now > this.provenBy + LATE_MS;
  }

  ponged(now: number): void {
    this.#pongsAt.push(now);
  }

  acked(): void {
    this.heardAt = this.#pongsAt.shift() ?? this.heardAt;
  }
}
