/**
 * The pump of one space: step, commit, deliver. Effects wait for the commit, always: what was told is stored. It
 * begins by loading the space, and lives until it is unloaded or something fails; it is never used again after that.
 */

import { type Command, Machine, type MachineCounts, type MachineOptions, Outbox } from "../core/index.ts";
import { Found } from "./found.ts";
import type { Hear, LockPort, LockReceiver } from "./lock-port.ts";
import type { Batch, Clock, Store, StoredSpace } from "./ports.ts";
import type { Timed, Timers } from "./timers.ts";

export interface SpaceParts {
  readonly name: string;
  readonly clock: Clock;
  readonly store: Store;
  readonly timers: Timers;
  readonly receiver: LockReceiver;
  /** What the machine is made with, but for the number to go on from. */
  readonly options: MachineOptions;
  /** Numbers given out are above this one. */
  readonly serialFloor: number;
  /** What ended is forgotten in groups, at multiples of this; undefined: as soon as it may be. */
  readonly forgetEveryMs?: number | undefined;
  /** See HostPorts. */
  readonly gather?: ((commit: () => void) => void) | undefined;
  readonly onError: (error: unknown, about: { readonly where: string }) => void;
  /** The space is loaded, or a batch is committed: the store answers. */
  readonly onStored: () => void;
  /** A record is committed that expires then. */
  readonly onExpiring: (at: number) => void;
  /** Memory and store may differ: the space is over and must be loaded anew. */
  readonly onFailed: (space: Space) => void;
  /** Nothing lives in the space, nothing is remembered and nobody listens. */
  readonly onIdle: (space: Space) => void;
}

/** Numbers are reserved in the store in blocks, so that a grant that is not stored costs no write. */
const SERIAL_BLOCK = 4096;

const TICK: Command = { kind: "tick" };

export class Space implements LockPort, Timed {
  deadline: number = Number.POSITIVE_INFINITY;
  slot = -1;
  readonly order: number;
  readonly #parts: SpaceParts;
  readonly #outbox = new Outbox();
  readonly #found: Found;
  #machine: Machine | undefined;
  #hear: Hear | undefined;
  /** Commands in order of arrival, each with the time of it: by that time they are judged, however long a commit takes. */
  #inbox: Command[] = [];
  #times: number[] = [];
  /** No number above this one may leave before it is reserved. */
  #serialReserved = 0;
  /** As long as none above it was given out, nothing has to be reserved: a space that only forgets writes no more than that. */
  #serialLoaded = 0;
  /** Set while the store is at work: commands gather meanwhile and share the next commit. */
  #underWay: Promise<void> | undefined;
  /** Set while a commit waits for what else this turn of the event loop brings: it is served at once, and told with it. */
  #gathering: Promise<void> | undefined;
  #isPumping = false;
  #isOver = false;

  constructor(parts: SpaceParts) {
    const { name: space, store, onError } = parts;
    this.#parts = parts;
    this.#found = new Found({ space, store, outbox: this.#outbox, onError });
    this.order = parts.timers.nextOrder();
  }

  get name(): string {
    return this.#parts.name;
  }

  /** The latest number given out. */
  get serial(): number {
    return this.#machine?.serial ?? 0;
  }

  get isPrompt(): boolean {
    return this.#underWay === undefined;
  }

  submit(command: Command): void {
    if (this.#isOver) throw new Error("a command for a space that is over");
    const now = this.#parts.clock.now();
    const machine = this.#machine;
    if (machine === undefined || this.#isPumping || this.#underWay !== undefined) {
      // What is told may bring about new commands at once. They queue behind, so that effects are told in order.
      this.#inbox.push(command);
      this.#times.push(now);
      if (!this.#isPumping && this.#underWay === undefined) this.#pump();
      return;
    }
    this.#isPumping = true;
    if (this.#step(machine, command, now)) this.#commit(machine);
    this.#pump();
  }

  due(): void {
    if (!this.#isOver) this.submit(TICK);
  }

  /** Takes the space out of use; the caller has made sure that nobody uses it. */
  unload(): void {
    this.#isOver = true;
    this.#parts.timers.set(this, Number.POSITIVE_INFINITY);
  }

  async settled(): Promise<void> {
    for (let busy = this.#gathering ?? this.#underWay; busy !== undefined; busy = this.#gathering ?? this.#underWay)
      await busy;
  }

  watch(hear: Hear): () => void {
    this.#hear = hear;
    this.#outbox.isWatched = true;
    return () => {
      if (this.#hear !== hear) return;
      this.#hear = undefined;
      this.#outbox.isWatched = false;
    };
  }

  counts(): MachineCounts | undefined {
    return this.#machine?.counts();
  }

  #pump(): void {
    this.#isPumping = true;
    while (this.#inbox.length > 0 && this.#underWay === undefined && !this.#isOver) {
      if (this.#machine === undefined) this.#load();
      else this.#turn(this.#machine);
    }
    this.#isPumping = false;
    const isBusy = this.#underWay !== undefined || this.#gathering !== undefined;
    if (this.#machine !== undefined && !isBusy && !this.#isOver) this.#rest(this.#machine);
  }

  #load(): void {
    const { store, name } = this.#parts;
    try {
      const stored = store.load(name);
      if (stored instanceof Promise) {
        this.#wait(stored, (loaded) => this.#restore(loaded), "load");
      } else {
        this.#restore(stored);
      }
    } catch (error) {
      this.#fail(error, "load");
    }
  }

  #restore(stored: StoredSpace): void {
    const { clock, options, serialFloor, receiver } = this.#parts;
    const serial = Math.max(stored.serial, serialFloor);
    const now = clock.now();
    const machine = new Machine({ ...options, serial });
    machine.restore(stored.image, now, this.#outbox);
    // Their connections ended with the process that had them, where they do not outlive it.
    for (const { id } of stored.image.sessions) {
      if (receiver.isConnected?.(id) !== true) machine.step({ kind: "drop", session: id }, now, this.#outbox);
    }
    this.#parts.onStored();
    this.#serialReserved = serial;
    this.#serialLoaded = serial;
    this.#machine = machine;
    this.#write(machine);
    if (!this.#isOver) receiver.restored?.(stored.image);
  }

  /** Serves all commands that are there, with one commit. */
  #turn(machine: Machine): void {
    const commands = this.#inbox;
    const times = this.#times;
    this.#inbox = [];
    this.#times = [];
    for (let i = 0; i < commands.length; i++) {
      if (!this.#step(machine, commands[i] as Command, times[i] as number)) return;
    }
    this.#commit(machine);
  }

  #step(machine: Machine, command: Command, now: number): boolean {
    try {
      machine.step(this.#found.complete(command, machine), now, this.#outbox);
      return true;
    } catch (error) {
      this.#fail(error, "step");
      return false;
    }
  }

  #commit(machine: Machine): void {
    const { gather } = this.#parts;
    if (this.#gathering !== undefined) return;
    if (gather === undefined || this.#outbox.changeCount === 0) {
      this.#write(machine);
      return;
    }
    this.#gathering = new Promise((resolve) => {
      gather(() => {
        this.#gathering = undefined;
        this.#isPumping = true;
        if (!this.#isOver) this.#write(machine);
        this.#pump();
        resolve();
      });
    });
  }

  #write(machine: Machine): void {
    const { changes, changeCount } = this.#outbox;
    // A batch that is written anyway also refills the reserve, before it is used up.
    const floor = changeCount === 0 ? this.#serialReserved : this.#serialReserved - SERIAL_BLOCK / 2;
    const isReserving = machine.serial > floor && machine.serial > this.#serialLoaded;
    if (changeCount === 0 && !isReserving) {
      this.#deliver();
      return;
    }
    const serialReserved = isReserving ? machine.serial + SERIAL_BLOCK : this.#serialReserved;
    const batch: Batch = isReserving ? { changes, changeCount, serialReserved } : { changes, changeCount };
    try {
      const committing = this.#parts.store.commit(this.#parts.name, batch);
      if (committing instanceof Promise) {
        this.#wait(committing, () => this.#committed(serialReserved), "commit");
        return;
      }
    } catch (error) {
      this.#fail(error, "commit");
      return;
    }
    this.#committed(serialReserved);
  }

  #committed(serialReserved: number): void {
    this.#found.committed();
    this.#watchExpiry();
    this.#serialReserved = serialReserved;
    this.#parts.onStored();
    this.#deliver();
  }

  #watchExpiry(): void {
    const { changes, changeCount } = this.#outbox;
    for (let i = 0; i < changeCount; i++) {
      const change = changes[i];
      if (change?.kind === "record") this.#parts.onExpiring(change.record.expiresAt);
    }
  }

  /** Until the store is done nothing is served; what arrives meanwhile is served together. */
  #wait<T>(work: Promise<T>, then: (result: T) => void, where: string): void {
    const resume = (result: T): void => {
      this.#underWay = undefined;
      this.#isPumping = true;
      then(result);
      this.#pump();
    };
    this.#underWay = work.then(resume).catch((error: unknown) => this.#fail(error, where));
  }

  #deliver(): void {
    const { effects, effectCount, touched } = this.#outbox;
    for (let i = 0; i < effectCount; i++) {
      try {
        this.#parts.receiver.effect(effects[i] as (typeof effects)[number]);
      } catch (error) {
        // One listener that fails must not keep the news from the others.
        this.#parts.onError(error, { where: "deliver" });
      }
    }
    if (touched.size > 0) this.#hear?.(touched);
    this.#outbox.clear();
  }

  #rest(machine: Machine): void {
    const deadline = machine.nextDeadline(this.#parts.forgetEveryMs, this.deadline);
    this.#parts.timers.setBy(this, deadline);
    if (deadline !== Number.POSITIVE_INFINITY || !this.#parts.receiver.isVacant) return;
    const { claims, sessions, remembered } = machine.counts();
    if (claims + sessions + remembered === 0) this.#parts.onIdle(this);
  }

  /** Memory is ahead of the store: nobody may be told what the store does not know. */
  #fail(error: unknown, where: string): void {
    this.#underWay = undefined;
    this.unload();
    this.#inbox = [];
    this.#outbox.clear();
    this.#parts.onError(error, { where });
    this.#parts.onFailed(this);
    this.#parts.receiver.stopped();
  }
}
