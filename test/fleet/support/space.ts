/** A process's part in a space, with Redis' side of it played by the test, in virtual time. */

import type { Command, Effect } from "../../../src/core/index.ts";
import type { Listener } from "../../../src/fleet/connector.ts";
import { FleetError } from "../../../src/fleet/error.ts";
import type { FleetAnswer, FleetCall, FleetEffect, Letter } from "../../../src/fleet/script.ts";
import { FleetSpace } from "../../../src/fleet/space.ts";
import { Timers } from "../../../src/host/timers.ts";
import { VirtualTime } from "../../host/support/time.ts";

export const LEASE_MS = 10_000;
export const RETRY_MS = 1000;
/** Redis' clock is ahead of ours by so much when it serves a call. */
export const AHEAD_MS = 1_790_000_000_000;

interface Pending {
  readonly call: FleetCall;
  readonly resolve: (answer: FleetAnswer) => void;
  readonly reject: (error: Error) => void;
}

export class SpaceWorld {
  readonly time = new VirtualTime();
  readonly told: (Effect | "stopped" | { readonly moved: string })[] = [];
  readonly unavailable: Command[] = [];
  readonly calls: FleetCall[] = [];
  readonly errors: unknown[] = [];
  readonly left: string[] = [];
  isVacant = false;
  unheardCount = 0;
  /** Of the space's own channel, once somebody watches. */
  listener: Listener | undefined;
  readonly listened: string[] = [];
  waitingCount = 0;
  readonly space: FleetSpace;
  readonly #timers: Timers;
  readonly #pending: Pending[] = [];
  #letterLast = 0;
  #processLast = 0;

  constructor() {
    const { time, told, unavailable } = this;
    this.#timers = new Timers(time);
    time.wake = () => this.#timers.run(time.now());
    const isVacant = (): boolean => this.isVacant;
    const receiver = {
      effect: (effect: Effect) => void told.push(effect),
      stopped: () => void told.push("stopped"),
      moved: (session: string) => void told.push({ moved: session }),
      unavailable: (command: Command) => void unavailable.push(command),
      get isVacant() {
        return isVacant();
      },
    };
    const lost = (): void => void this.left.push("lost");
    const idle = (): void => void this.left.push("idle");
    this.space = new FleetSpace(
      { name: "s", receiver, timers: this.#timers, limits: {}, quarantineMs: 0, onLost: lost, onIdle: idle },
      {
        newProcess: () => `p${++this.#processLast}`,
        clock: time,
        channel: "wake",
        settings: { leaseMs: LEASE_MS },
        retryMs: RETRY_MS,
        call: (call) => {
          this.calls.push(call);
          return new Promise((resolve, reject) => this.#pending.push({ call, resolve, reject }));
        },
        onWaiting: () => void this.waitingCount++,
        onUnheard: () => void this.unheardCount++,
        listen: (listener) => {
          this.listener = listener;
          return { renew: () => void this.listened.push("renewed"), close: () => void this.listened.push("closed") };
        },
        onOver: () => void this.left.push("over"),
        onError: (error) => void this.errors.push(error),
      },
    );
  }

  get underWay(): FleetCall | undefined {
    return this.#pending[0]?.call;
  }

  get lastCall(): FleetCall {
    return this.calls.at(-1)!;
  }

  async submit(...commands: readonly Command[]): Promise<void> {
    for (const command of commands) this.space.submit(command);
    await turn();
  }

  /** A letter with the next number. */
  letter(...effects: readonly FleetEffect[]): Letter {
    return { number: ++this.#letterLast, effects };
  }

  push(letter?: Letter): void {
    this.space.heard({ process: this.space.process, ...(letter && { letter }) });
  }

  async answer(change: Partial<FleetAnswer> = {}): Promise<void> {
    const { call, resolve } = this.#pending.shift()!;
    resolve({
      standing: "known",
      served: call.commands.length,
      letters: [],
      serverNow: this.time.now() + AHEAD_MS,
      nextDeadline: Number.POSITIVE_INFINITY,
      epoch: "17",
      ...change,
    });
    await turn();
  }

  async fail(error: Error = new FleetError("unreachable", "no answer")): Promise<void> {
    this.#pending.shift()!.reject(error);
    await turn();
  }

  /** Moves on; every call on the way is answered, with nothing new, or by `answer`. */
  async advance(ms: number, answer: () => Promise<void> = () => this.answer()): Promise<void> {
    const until = this.time.now() + ms;
    while (this.time.now() < until) {
      this.time.advance(Math.min(10, until - this.time.now()));
      await turn();
      for (let last; this.underWay !== undefined && this.underWay !== last;) {
        last = this.underWay;
        await answer();
      }
    }
  }
}

/** Lets promises that are settled be heard. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 8; i++) await Promise.resolve();
}

export function ask(request: string, from = "@"): Command {
  return { kind: "status", from, request, key: "k" };
}

export function status(request: string, to = "@"): Effect {
  return { kind: "status", to, request, key: "k", holders: [], waiting: 0 };
}
