/**
 * One begin of callers, from its command to its last effect, with all the HTTP calls that wait for it. When the last of them hangs
 * up the begin is withdrawn: no attempt runs whose token nobody knows.
 */

import { type Begin, type Command, isSameBegin } from "../core/index.ts";
import { type Caller, Callers } from "./callers.ts";
import type { Delivery } from "./calls.ts";
import type { HostParts } from "./parts.ts";
import type { Told } from "./wire.ts";

export class BeginEntry implements Delivery {
  readonly #command: Begin;
  readonly #submit: (command: Command) => void;
  readonly #parts: HostParts;
  readonly #callers: Callers;
  #isCancelled = false;
  #isFresh = false;
  /** Answers given with the start, and those of them that are known to have been lost. */
  #givenCount = 0;
  #lostCount = 0;

  constructor(command: Begin, submit: (command: Command) => void, parts: HostParts) {
    this.#command = command;
    this.#submit = submit;
    this.#parts = parts;
    // Before it is known to be queued it may be a repeat of a begin that runs: then it is decided by the answer.
    this.#callers = new Callers(parts, () => {
      if (this.#callers.size === 0 && this.hasWaited && !this.#isCancelled) this.#cancel();
    });
  }

  get hasWaited(): boolean {
    return this.#callers.hasWaited;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Whether this very command started the attempt: its repeat shows a token that was minted earlier. */
  get isFresh(): boolean {
    return this.#isFresh;
  }

  /** The caller waits for the answer. Where that does not come at once, call `listen`. */
  attach(caller: Caller, command: Begin): void {
    const { from: to, request } = command;
    if (!isSameBegin(command, this.#command)) {
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
      case "attempt_queued":
        this.#callers.wait();
        if (this.#parts.isDraining()) this.drain();
        else if (this.#callers.size === 0 && !this.#isCancelled) this.#cancel();
        return false;
      case "started":
        return this.#started(effect);
      case "failed":
        // Of an earlier attempt under this request, which was taken back. Ours ends so when it is withdrawn.
        return this.#isCancelled;
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

  #started(effect: Extract<Told, { kind: "started" }>): boolean {
    // The withdrawal is on its way, and is answered.
    if (this.#isCancelled) return false;
    const isFresh = effect.attempt === this.#command.newAttempt;
    if (this.#callers.size > 0) {
      this.#isFresh = isFresh;
      this.#givenCount = this.#callers.size;
      this.#callers.answer(effect);
      return true;
    }
    // Whoever asked is gone. An attempt that an earlier answer told of is not ours to give back.
    if (!isFresh) return true;
    this.#cancel();
    return false;
  }

  #cancel(): void {
    this.#isCancelled = true;
    this.#withdraw();
  }

  #withdraw(): void {
    const { from, request } = this.#command;
    this.#submit({ kind: "cancel_begin", from, request });
  }
}
