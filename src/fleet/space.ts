/**
 * One space as a process takes part in it: commands go to Redis in batches, letters come back, as answers or as pushes. It has a name of its own,
 * known to Redis for as long as its lease; it lives until it leaves or is cut off, and is never used again after that.
 */

import type { Command } from "../core/index.ts";
import type { SharedSpace, SharedSpaceParts } from "../host/fleet-port.ts";
import type { Timed } from "../host/timers.ts";
import { CALL_MAX_MS } from "./connector.ts";
import { FleetError } from "./error.ts";
import { farewell } from "./farewell.ts";
import { type Batch, Inbox } from "./inbox.ts";
import { Lease, type Moment } from "./lease.ts";
import { Mailbox } from "./mailbox.ts";
import { PushWatch } from "./push-watch.ts";
import { type FleetAnswer, type FleetCall, isBeginning, type Letter, type Wake } from "./script.ts";
import type { FleetSpaceOptions } from "./space-options.ts";
import { Times } from "./times.ts";
import { Touches } from "./touches.ts";
import { Trouble } from "./trouble.ts";

/** A process that is not known yet has no lease to wait for. */
const JOIN_MAX_MS = 2 * CALL_MAX_MS;
/** Deadlines are served by whoever is first; the others find nothing to do, if they are not there in the same moment. */
const ALARM_JITTER_MS = 10;

export class FleetSpace implements SharedSpace, Timed {
  deadline: number = Number.POSITIVE_INFINITY;
  slot = -1;
  readonly order: number;
  readonly #parts: SharedSpaceParts;
  readonly #options: FleetSpaceOptions;
  readonly #times = new Times();
  readonly #pushes = new PushWatch();
  readonly #touches: Touches;
  #process = "";
  #lease: Lease;
  #mailbox = new Mailbox();
  #startedAt = 0;
  readonly #inbox = new Inbox();
  #batch: Batch | undefined;
  #batchLast = 0;
  /** Set while a call is under way; never rejects. */
  #calling: Promise<void> | undefined;
  #trouble: Trouble | undefined;
  #epoch = 0;
  /** Redis has answered: there is a lease. */
  #isKnown = false;
  #isFlushing = false;
  /** Whoever is known of here has nothing in the space: if Redis forgets this process nothing is lost by it. */
  #isClean = false;
  /** There is something to fetch that no call on its way may bring. */
  #isPollWanted = false;
  #isOver = false;
  #pollAt = Number.POSITIVE_INFINITY;
  #alarmAt = Number.POSITIVE_INFINITY;
  #vacantAt = Number.POSITIVE_INFINITY;

  constructor(parts: SharedSpaceParts, options: FleetSpaceOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#lease = new Lease(options.clock, options.settings.leaseMs);
    this.#touches = new Touches(options.listen, (error) => options.onError(error, { where: "push" }));
    this.#begin();
    this.order = parts.timers.nextOrder();
  }

  get process(): string {
    return this.#process;
  }

  get name(): string {
    return this.#parts.name;
  }

  get epoch(): number {
    return this.#epoch;
  }

  get vouchedUntil(): number {
    return this.#lease.until;
  }

  submit(command: Command): void {
    if (this.#isOver) throw new Error("a command for a space that is over");
    if (this.#isCutOff()) return;
    this.#inbox.put(command);
    this.#vacantAt = Number.POSITIVE_INFINITY;
    // What one turn of the host submits goes in one call.
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    queueMicrotask(() => {
      this.#isFlushing = false;
      this.#flush();
      this.#rest();
    });
  }

  /** Waits no longer than for one call: whoever waits is about to end. */
  async settled(): Promise<void> {
    const { clock } = this.#options;
    const until = clock.now() + CALL_MAX_MS;
    while (!this.#isOver && clock.now() < until && (this.#calling !== undefined || this.#isFlushing)) {
      await (this.#calling ?? Promise.resolve());
    }
  }

  /** What there is in the space is known to Redis alone. */
  counts(): undefined {
    return undefined;
  }

  readonly watch: SharedSpace["watch"] = (hear) => this.#touches.watch(hear);

  /** Redis published something for this process. */
  heard({ letter }: Wake): void {
    if (this.#isOver || this.#isCutOff()) return;
    if (letter === undefined || !this.#isKnown) {
      this.#pollSoon();
    } else {
      this.#pushes.pushed(letter.number);
      this.#mailbox.put(letter, (opened) => this.#open(opened));
      // An answer that is on its way may bring what is missing; if not, the next call is made then.
      if ((this.#mailbox.hasGap || this.#mailbox.isHeld) && this.#calling === undefined) this.#pollSoon();
    }
    this.#rest();
  }

  /** Something may have been published that nobody heard. */
  missed(): void {
    if (this.#isOver || !this.#isKnown || this.#isCutOff()) return;
    this.#pollSoon();
    this.#rest();
  }

  due(now: number): void {
    if (this.#isOver || this.#isCutOff()) return;
    if (this.#trouble !== undefined && now >= this.#trouble.tellAt) this.#tellTrouble(this.#trouble, now);
    if (now >= this.#pushes.at && this.#pushes.isDeaf) this.#options.onUnheard();
    this.#touches.due(now);
    if (now >= this.#vacantAt && this.#parts.receiver.isVacant && this.#isQuiet) {
      this.leave().catch((error: unknown) => this.#options.onError(error, { where: "leave" }));
      this.#parts.onIdle(this);
      return;
    }
    this.#flush();
    this.#rest();
  }

  async leave(): Promise<void> {
    if (this.#isOver) return;
    await this.#calling;
    if (this.#isOver) return;
    this.#end();
    const { commands } = this.#inbox;
    if (this.#isKnown) await farewell(this.#options.call, this.#head(), this.#batch, this.#batchLast, commands);
  }

  get #isQuiet(): boolean {
    return this.#batch === undefined && this.#inbox.commands.length === 0;
  }

  #pollSoon(): void {
    this.#isPollWanted = true;
    this.#flush();
  }

  /** Sends what there is to send, unless a call is under way or has to be repeated first. */
  #flush(): void {
    if (this.#isOver || this.#calling !== undefined) return;
    const now = this.#options.clock.now();
    const isEarly = now < (this.#trouble?.retryAt ?? 0);
    if (this.#batch !== undefined) {
      if (!isEarly) this.#call(this.#batch);
      return;
    }
    const isAlarm = now >= this.#alarmAt;
    // The first call only joins: whenever it may arrive it does nothing else, and no later one is carried out after the lease.
    const commands = this.#isKnown ? this.#inbox.take(isEarly) : [];
    const isAsked = commands.length > 0 || (!this.#isKnown && this.#inbox.commands.length > 0);
    if (!isAsked && now < this.#pollAt && !isAlarm && !this.#isPollWanted) return;
    const isPoll = this.#isKnown && commands.length === 0 && !isAlarm && !this.#isPollWanted;
    this.#isPollWanted = false;
    this.#batch = { number: ++this.#batchLast, commands, isPoll, isFreeing: isEarly };
    this.#call(this.#batch);
  }

  #call(batch: Batch): void {
    const sent = this.#lease.moment();
    const head = this.#head();
    this.#calling = this.#options
      .call({ ...head, batch: batch.number, commands: batch.commands })
      .then(
        (answer) => this.#answered(batch, head.read, sent, answer),
        (error: unknown) => this.#failed(batch, error),
      )
      .catch((error: unknown) => this.#break(error));
  }

  #head(): Omit<FleetCall, "batch" | "commands"> {
    const { channel, settings } = this.#options;
    const join = !this.#isKnown ? { join: { channel } } : undefined;
    const { head } = this.#touches;
    return { space: this.name, process: this.#process, read: this.#mailbox.read, settings, ...join, ...head };
  }

  #answered(batch: Batch, read: number, sent: Moment, answer: FleetAnswer): void {
    this.#calling = undefined;
    if (this.#isOver || this.#isCutOff()) return;
    if (answer.standing === "unknown") return this.#forgotten(batch);
    this.#lease.renewed(sent);
    // An answer that lay about while the process was frozen proves nothing any more.
    if (this.#isCutOff()) return;
    if (!batch.isFreeing || this.#inbox.commands.length === 0) this.#trouble = undefined;
    this.#batch = undefined;
    this.#isKnown = true;
    if (batch.commands.length > 0) this.#isClean = false;
    this.#epoch = Number(answer.epoch);
    this.#times.heard(sent, answer.serverNow);
    this.#touches.told(answer.touches ?? 0, this.#options.clock.now());
    if (answer.served < batch.commands.length) this.#inbox.putBack(batch.commands.slice(answer.served));
    this.#alarmAt = this.#times.local(answer.nextDeadline) + Math.random() * ALARM_JITTER_MS;
    this.#pollAt = this.#options.clock.now() + this.#options.retryMs * (0.75 + Math.random() / 4);
    const before = this.#mailbox.read;
    this.#mailbox.acknowledged(read, (opened) => this.#open(opened));
    for (const letter of answer.letters) this.#mailbox.put(letter, (opened) => this.#open(opened));
    if (batch.isPoll && this.#mailbox.read > before) this.#pushes.found(this.#mailbox.read, this.#options.clock.now());
    if (this.#mailbox.hasGap || this.#mailbox.isHeld) this.#isPollWanted = true;
    this.#flush();
    this.#rest();
  }

  #failed(batch: Batch, error: unknown): void {
    this.#calling = undefined;
    if (this.#isOver) return;
    const now = this.#options.clock.now();
    if (!(error instanceof FleetError) || !error.isPassing) return this.#break(error);
    this.#trouble ??= new Trouble(now);
    this.#trouble.failed(now);
    if (error.code === "full" && !batch.isFreeing && this.#isKnown) {
      // It has carried nothing out: what frees goes on its own.
      this.#inbox.putBack(batch.commands);
      this.#batch = undefined;
      this.#pollSoon();
    }
    if (!this.#isCutOff()) this.#rest();
  }

  #open({ effects }: Letter): void {
    for (const effect of effects) {
      // One that was told may have ended it all.
      if (this.#isOver) return;
      if (isBeginning(effect)) this.#options.onWaiting();
      try {
        if (effect.kind === "moved") this.#parts.receiver.moved?.(effect.to);
        else this.#parts.receiver.effect(this.#times.localized(effect));
      } catch (error) {
        // One listener that fails must not keep the news from the others.
        this.#options.onError(error, { where: "deliver" });
      }
    }
  }

  /** Callers need not wait for as long as a session does; what they asked for may still happen, and is then given back. */
  #tellTrouble(trouble: Trouble, now: number): void {
    trouble.told(now);
    for (const command of [...(this.#batch?.commands ?? []), ...this.#inbox.commands]) {
      this.#parts.receiver.unavailable?.(command);
    }
  }

  /** When to look again. */
  #rest(): void {
    if (this.#isOver) return;
    const { receiver, timers } = this.#parts;
    const now = this.#options.clock.now();
    const isWaitingFor = !receiver.isVacant || !this.#isQuiet;
    if (!isWaitingFor) this.#isClean = true;
    if (isWaitingFor) this.#vacantAt = Number.POSITIVE_INFINITY;
    else this.#vacantAt = Math.min(this.#vacantAt, now + this.#options.settings.leaseMs / 3);
    const isFree = this.#calling === undefined && this.#batch === undefined && isWaitingFor;
    const until = !this.#isKnown ? this.#startedAt + JOIN_MAX_MS : this.#lease.until;
    const at = Math.min(
      isWaitingFor ? until : Number.POSITIVE_INFINITY,
      this.#vacantAt,
      isFree ? Math.min(this.#pollAt, this.#alarmAt) : Number.POSITIVE_INFINITY,
      this.#trouble === undefined ? Number.POSITIVE_INFINITY : this.#trouble.tellAt,
      this.#trouble === undefined || this.#calling !== undefined ? Number.POSITIVE_INFINITY : this.#trouble.retryAt,
      this.#pushes.at,
      this.#touches.at,
    );
    timers.set(this, at);
  }

  /** True: the lease is over, by either clock, and so is this. */
  #isCutOff(): boolean {
    const isLate = !this.#isKnown && this.#options.clock.now() >= this.#startedAt + JOIN_MAX_MS;
    if (!isLate && !this.#lease.isOver) return false;
    if (!isLate && this.#isClean && this.#batch === undefined) {
      this.#begin();
      return false;
    }
    this.#cutOff();
    return true;
  }

  /** Redis does not know this process any more, and has carried nothing out. */
  #forgotten({ commands }: Batch): void {
    if (!this.#isClean) return this.#cutOff();
    this.#inbox.putBack(commands);
    this.#batch = undefined;
    this.#begin();
    this.#flush();
    this.#rest();
  }

  /** Under a new name, of which nobody knows anything yet. */
  #begin(): void {
    const { clock, settings, newProcess } = this.#options;
    this.#process = newProcess(this);
    this.#lease = new Lease(clock, settings.leaseMs);
    this.#mailbox = new Mailbox();
    this.#startedAt = clock.now();
    this.#isKnown = false;
  }

  /** Others may decide about our sessions from now on: nothing more is said in their name. */
  #cutOff(): void {
    if (this.#isOver) return;
    this.#end();
    this.#parts.onLost(this);
    this.#parts.receiver.stopped();
  }

  #break(error: unknown): void {
    this.#options.onError(error, { where: "fleet" });
    this.#cutOff();
  }

  #end(): void {
    this.#isOver = true;
    this.#touches.close();
    this.#parts.timers.set(this, Number.POSITIVE_INFINITY);
    this.#options.onOver(this);
  }
}
