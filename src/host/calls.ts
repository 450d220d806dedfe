/**
 * HTTP calls that wait for their answer. Each command that is submitted for callers has one entry under its address,
 * and entries of one address are answered in the order in which their commands were submitted.
 */

import type { Acquire, Begin, Command } from "../core/index.ts";
import type { ClaimRecord } from "../core/record.ts";
import { AcquireEntry } from "./acquire-entry.ts";
import { Addressed } from "./addressed.ts";
import type { Asked } from "./asked.ts";
import { BeginEntry } from "./begin-entry.ts";
import type { Caller } from "./callers.ts";
import { Orphans } from "./orphans.ts";
import type { HostParts } from "./parts.ts";
import { turnsOver } from "./turns.ts";
import type { Told } from "./wire.ts";

/** What a call comes to: an effect, or a reason why there is none. `gone`: the caller hung up. */
export type Answer = Told | { readonly kind: "unavailable" | "draining" | "gone" };

export interface WaitAnswer {
  readonly answer: Answer;
  /** Whether the caller had to wait for it. */
  readonly hasWaited: boolean;
  /** After so many turns of the event loop it is known whether the caller had hung up before this. */
  readonly turnsToKnow: number;
}

type Waited = Acquire | Begin;
type Unanswered = "open" | "resume" | "drop" | "bye" | "tick" | "cancel" | "cancel_begin";

/** Something submitted that has not had its last effect yet. */
export interface Entry {
  /** Whether this was the last effect for it. */
  effect(effect: Told): boolean;
  /** The host takes no new work: whoever only waits is sent away. */
  drain(): void;
  stopped(): void;
  /** Nobody can say for now what becomes of it: whoever waits is sent away, and what comes of it later is given back. */
  unavailable(): void;
}

/** Something that is waited for, and given back when its answer reached nobody. */
export interface Delivery extends Entry {
  /** Whether this very command was granted, not one that it repeats. */
  readonly isFresh: boolean;
  /** Whether it is known that the answer does not come at once. */
  readonly hasWaited: boolean;
  /** Notices from now on when the caller hangs up, if it still waits. */
  listen(caller: Caller): void;
  /** One more answer was lost. True when none can have arrived: then what was granted has been given back. */
  undelivered(): boolean;
}

/** Grants whose delivery may still turn out to have failed. One that was pushed out sits out its lease. */
const DELIVERIES_MAX = 1024;

export class Calls {
  readonly #submit: (command: Command) => void;
  readonly #isPrompt: () => boolean;
  readonly #parts: HostParts;
  readonly #entries: Addressed<Entry[]> = new Addressed();
  /** The latest grants by address. A repeat of the request makes the fate of the first answer irrelevant. */
  readonly #deliveries: Addressed<Delivery> = new Addressed();
  /** The same in a ring. */
  readonly #remembered: { readonly from: string; readonly request: string; readonly entry: Delivery }[] = [];
  #nextSlot = 0;
  /** Set while what is told grants a key to somebody who waited for it: so many turns of the event loop later that one is answered. */
  #turnsBehind: number | undefined;
  readonly #orphans: Orphans;

  /** `isPrompt`: as in LockPort. */
  constructor(submit: (command: Command) => void, isPrompt: () => boolean, parts: HostParts) {
    this.#submit = submit;
    this.#isPrompt = isPrompt;
    this.#parts = parts;
    this.#orphans = new Orphans(submit, parts);
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0 && this.#orphans.isEmpty;
  }

  get count(): number {
    return this.#entries.size;
  }

  /** For commands with one answer, which comes at once or with the next commit. */
  ask(command: Exclude<Command, { kind: Waited["kind"] | Unanswered }>): Promise<Answer> {
    const behindGrants = (tell: () => void): void => this.#behindGrants(tell);
    return new Promise((resolve) => {
      const entry: Entry = {
        effect(effect) {
          if (effect.kind === "released") behindGrants(() => resolve(effect));
          else resolve(effect);
          return true;
        },
        drain() {},
        stopped: () => resolve({ kind: "unavailable" }),
        unavailable: () => resolve({ kind: "unavailable" }),
      };
      this.#enter(command, entry);
      this.#submit(command);
    });
  }

  /** Waits until the claim is granted or over. Calls with the same request are one claim and get the same answer. */
  acquire(command: Acquire, request: Pick<Asked, "signal">): Promise<WaitAnswer> {
    return this.#wait(command, request, (caller, last) => {
      const isShared = last instanceof AcquireEntry && !last.isCancelled;
      const entry = isShared ? last : new AcquireEntry(command, this.#submit, this.#parts);
      entry.attach(caller, command);
      return entry;
    });
  }

  /** Waits until an attempt starts, there is a result, or the wait is over; repeats as in `acquire`. */
  begin(command: Begin, request: Pick<Asked, "signal">): Promise<WaitAnswer> {
    return this.#wait(command, request, (caller, last) => {
      const isShared = last instanceof BeginEntry && !last.isCancelled;
      const entry = isShared ? last : new BeginEntry(command, this.#submit, this.#parts);
      entry.attach(caller, command);
      return entry;
    });
  }

  effect(effect: Told): void {
    const { to: from, request } = effect;
    const entries = this.#entries.get(from, request);
    const entry = entries?.[0];
    // Ends of locks that callers hold are told to nobody: they learn it when they show the token.
    if (entries === undefined || entry === undefined || !entry.effect(effect)) return;
    if (entries.length === 1) this.#entries.delete(from, request);
    else entries.shift();
    if (!(entry instanceof AcquireEntry || entry instanceof BeginEntry) || !entry.isFresh) return;
    // Where delivery is confirmed only those who waited are asked for, and it may take seconds: others would push them out.
    if (entry.hasWaited || this.#parts.hibernation === undefined) this.#remember(from, request, entry);
    if (entry.hasWaited) this.#grantedToWaiter();
  }

  /** What was submitted for this address has no answer, and may have none for long. */
  unavailable(from: string, request: string): void {
    for (const entry of this.#entries.get(from, request) ?? []) entry.unavailable();
  }

  /** The space was loaded with these claims. */
  restored(claims: readonly ClaimRecord[]): void {
    this.#orphans.restored(claims);
  }

  /** The answer to the acquire or begin at this address could not be sent. */
  undelivered(from: string, request: string): void {
    if (this.#deliveries.get(from, request)?.undelivered() === true) this.#deliveries.delete(from, request);
  }

  drain(): void {
    for (const entries of this.#entries.values()) for (const entry of entries) entry.drain();
  }

  stopped(): void {
    const entries = [...this.#entries.values()].flat();
    this.#entries.clear();
    for (const entry of entries) entry.stopped();
  }

  /** `enter` gives the entry that takes the caller: the latest one at its address, or a new one for the command. */
  #wait(
    command: Waited,
    request: Pick<Asked, "signal">,
    enter: (caller: Caller, last: Entry | undefined) => Delivery,
  ): Promise<WaitAnswer> {
    return new Promise((resolve) => {
      const caller: Caller = { request, resolve, since: this.#parts.clock.now() };
      const { from, request: name } = command;
      this.#deliveries.delete(from, name);
      this.#orphans.cameBack(from, name);
      const last = this.#entries.get(from, name)?.at(-1);
      const entry = enter(caller, last);
      if (entry !== last) {
        this.#enter(command, entry);
        this.#submit(command);
      }
      // What comes within this turn of the event loop is not waited for.
      if (!this.#isPrompt()) entry.listen(caller);
    });
  }

  /** What is told together with this, and is nobody's turn, is answered after it. */
  #grantedToWaiter(): void {
    this.#turnsBehind = this.#parts.turnsToKnow();
    queueMicrotask(() => queueMicrotask(() => (this.#turnsBehind = undefined)));
  }

  /**
   * A releaser is answered behind whoever holds the key by its release: that one waits for it, and to answer the other first would
   * take as long as all the rest of a hand-off.
   */
  #behindGrants(tell: () => void): void {
    queueMicrotask(() => {
      if (this.#turnsBehind === undefined || this.#turnsBehind === 0) tell();
      else turnsOver(this.#turnsBehind).then(tell, tell);
    });
  }

  #enter({ from, request }: { readonly from: string; readonly request: string }, entry: Entry): void {
    const entries = this.#entries.get(from, request);
    if (entries === undefined) this.#entries.set(from, request, [entry]);
    else entries.push(entry);
  }

  #remember(from: string, request: string, entry: Delivery): void {
    this.#deliveries.set(from, request, entry);
    // Not the first of the table: to find that one takes longer the more were deleted before it.
    const oldest = this.#remembered[this.#nextSlot];
    if (oldest !== undefined && this.#deliveries.get(oldest.from, oldest.request) === oldest.entry) {
      this.#deliveries.delete(oldest.from, oldest.request);
    }
    this.#remembered[this.#nextSlot] = { from, request, entry };
    this.#nextSlot = (this.#nextSlot + 1) % DELIVERIES_MAX;
  }
}
