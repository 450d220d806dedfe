/** Where the effects of one space go: to the session's connection, or to the HTTP call that waits. */

import type { Command, Effect } from "../core/index.ts";
import type { Image } from "../core/record.ts";
import { Calls } from "./calls.ts";
import type { SharedSpace } from "./fleet-port.ts";
import type { LockPort, LockReceiver } from "./lock-port.ts";
import type { HostParts } from "./parts.ts";
import { Sessions } from "./sessions.ts";
import { Watches } from "./watch/watches.ts";

/** Callers without a session have addresses that start with this; ids of sessions never do. */
export const CALLER_MARK = "@";

export class Switchboard implements LockReceiver {
  readonly port: LockPort & Partial<Pick<SharedSpace, "epoch" | "vouchedUntil" | "leave">>;
  readonly sessions: Sessions;
  readonly calls: Calls;
  readonly watches: Watches;
  readonly #parts: HostParts;
  /** Fences rise, so a grant with a smaller one is told again, not new. */
  #fenceLast = 0;

  constructor(parts: HostParts, connect: (receiver: LockReceiver) => Switchboard["port"]) {
    this.#parts = parts;
    const submit = (command: Command): void => this.port.submit(command);
    this.sessions = new Sessions(submit);
    this.calls = new Calls(submit, () => this.port.isPrompt === true, parts);
    this.watches = new Watches(parts, this.calls, () => this.port);
    this.port = connect(this);
  }

  get isVacant(): boolean {
    return this.sessions.isEmpty && this.calls.isEmpty && this.watches.count === 0;
  }

  effect(effect: Effect): void {
    this.#count(effect);
    if (effect.kind === "opened" || effect.kind === "resumed" || effect.kind === "session_ended") {
      this.sessions.lifecycle(effect);
    } else if (effect.to.startsWith(CALLER_MARK)) {
      this.calls.effect(effect);
    } else {
      this.sessions.effect(effect);
    }
  }

  restored({ sessions, claims }: Image): void {
    this.sessions.restored(new Set(sessions.map(({ id }) => id)));
    this.calls.restored(claims);
  }

  isConnected(session: string): boolean {
    return this.sessions.isSeated(session);
  }

  moved(session: string): void {
    this.sessions.moved(session);
  }

  unavailable(command: Command): void {
    if ("from" in command && command.from.startsWith(CALLER_MARK))
      this.calls.unavailable(command.from, command.request);
  }

  stopped(): void {
    // First of all, since sessions that end would take their watches from a space that is over.
    this.watches.over();
    this.sessions.stopped();
    this.calls.stopped();
  }

  #count(effect: Effect): void {
    let isRepeat = false;
    if (effect.kind === "granted" && !effect.reentrant) {
      isRepeat = effect.fence <= this.#fenceLast;
      if (!isRepeat) this.#fenceLast = effect.fence;
    }
    this.#parts.metrics.effect(effect, isRepeat);
  }
}
