/**
 * One acquire of callers, from its command to its last effect, with all the HTTP calls that wait for it. When the last
 * of them hangs up the claim is withdrawn, so that no lock is granted to nobody.
 */

import { type Acquire, type Command, isSameRequest } from "../core/index.ts";
import { type Caller, Callers } from "./callers.ts";
import type { Delivery } from "./calls.ts";
import type { HostParts } from "./parts.ts";
import type { Told } from "./wire.ts";

export class AcquireEntry implements Delivery {
  readonly #command: Acquire;
  readonly #submit: (command: Command) => void;
  readonly #parts: HostParts;
  readonly #callers: Callers;
  #isCancelled = false;
  #isFresh = false;
  /** Answers given with the grant, and those of them that are known to have been lost. */
  #givenCount = 0;
  #lostCount = 0;

  constructor(command: Acquire, submit: (command: Command) => void, parts: HostParts) {
    this.#command = command;
    this.#submit = submit;
    this.#parts = parts;
    // Before it is known to be queued it may be a repeat of a claim that holds: then it is decided by the answer.
    this.#callers = new Callers(parts, () => {
      if (this.#callers.size === 0 && this.hasWaited && !this.#isCancelled) this.#cancel();
    });
  }

  get hasWaited(): boolean {
    return this.#callers.hasWaited;
  }

  /** The claim is withdrawn and forgotten; the same request is a new claim. */
  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Whether this very command was granted: its repeat shows a token that was minted earlier. */
  get isFresh(): boolean {
    return this.#isFresh;
  }

  /** The caller waits for the answer. Where that does not come at once, call `listen`. */
  attach(caller: Caller, command: Acquire): void {
    const { from: to, request } = command;
    if (!isSameRequest(command, this.#command)) {
      const answer = { kind: "refused", to, request, code: "request_mismatch" } as const;
      caller.resolve({ answer, hasWaited: false, turnsToKnow: 0 });
      return;
    }
    this.#callers.add(caller);
  }

  listen(caller: Caller): void {
    this.#callers.listen(caller);
  }

  effect(effect: Told): boolean {
    switch (effect.kind) {
      case "queued":
        this.#callers.wait();
        if (this.#parts.isDraining()) this.drain();
        else if (this.#callers.size === 0 && !this.#isCancelled) this.#cancel();
        return false;
      case "granted":
        return this.#granted(effect);
      case "ended":
        // A claim that was held before can still be told to end while its repeat is on the way.
        if (effect.held && effect.again !== true && !this.#isCancelled) return false;
        this.#callers.answer(effect);
        return true;
      default:
        this.#callers.answer(effect);
        return true;
    }
  }

  undelivered(): boolean {
    if (++this.#lostCount !== this.#givenCount) return false;
    this.#withdraw();
    return true;
  }

  drain(): void {
    if (!this.hasWaited || this.#isCancelled) return;
    this.#callers.answer({ kind: "draining" });
    this.#cancel();
  }

  stopped(): void {
    this.#callers.answer({ kind: "unavailable" });
  }

  /** As if all had hung up: whoever comes back under the same request takes it up again. */
  unavailable(): void {
    if (this.#callers.size === 0) return;
    this.#callers.answer({ kind: "unavailable" });
    if (this.hasWaited && !this.#isCancelled) this.#cancel();
  }

  #granted(effect: Extract<Told, { kind: "granted" }>): boolean {
    if (this.#isCancelled) return false;
    const isFresh = !effect.reentrant && effect.token === this.#command.newToken;
    if (this.#callers.size > 0) {
      this.#isFresh = isFresh;
      this.#givenCount = this.#callers.size;
      this.#observe();
      this.#callers.answer(effect);
      return true;
    }
    // Whoever asked is gone. A lock that an earlier answer told of is not ours to give back.
    if (!isFresh) return true;
    this.#cancel();
    return false;
  }

  #observe(): void {
    const now = this.#parts.clock.now();
    for (const { since } of this.#callers) this.#parts.metrics.waited(now - since);
  }

  #cancel(): void {
    this.#isCancelled = true;
    this.#withdraw();
  }

  #withdraw(): void {
    const { from, request } = this.#command;
    this.#submit({ kind: "cancel", from, request, forget: true });
  }
}
