/**
 * Both machines of one space as one: the lock engine and the ledger of idempotency records, under one clock, with one outbox.
 * A session's end is told by the engine; its begins end in the same step.
 */

import type { Command, LockCommand } from "./command.ts";
import { Engine, type EngineCounts, type EngineOptions } from "./engine.ts";
import type { IdempotencyCommand, RecordCommand } from "./idempotency/command.ts";
import { Ledger, type LedgerCounts } from "./idempotency/ledger.ts";
import type { LedgerLimits } from "./idempotency/limits.ts";
import type { EngineLimits } from "./limits.ts";
import type { Outbox } from "./outbox.ts";
import type { SpaceImage } from "./record.ts";

export interface MachineOptions extends Omit<EngineOptions, "limits"> {
  readonly limits?: Partial<EngineLimits & LedgerLimits>;
}

export interface MachineCounts extends EngineCounts {
  readonly idempotency: LedgerCounts;
}

const TICK: LockCommand = { kind: "tick" };

export class Machine {
  readonly #locks: Engine;
  readonly #ledger: Ledger;

  constructor(options: MachineOptions = {}) {
    this.#locks = new Engine(options);
    this.#ledger = new Ledger(options);
  }

  /** The latest number given out; a store must make sure that no later start gives it out again. */
  get serial(): number {
    return this.#locks.serial;
  }

  /** Serves everything due at or before `now`, then the command. The outbox is added to, not cleared. */
  step(command: Command, now: number, outbox: Outbox): void {
    const told = outbox.effectCount;
    if (isAboutRecords(command)) {
      this.#locks.step(TICK, now, outbox);
      this.#dropEnded(told, outbox);
      this.#record(command, outbox);
      return;
    }
    this.#locks.step(command, now, outbox);
    if (this.#ledger.isEmpty) return;
    this.#dropEnded(told, outbox);
    this.#ledger.step(undefined, this.#locks.now, outbox);
  }

  /**
   * When there is next something to do, in engine time; Infinity when never. `forgetEveryMs` and `wokenAt` as for the engine: never
   * too late, but it may be too early.
   */
  nextDeadline(forgetEveryMs?: number, wokenAt?: number): number {
    return Math.min(this.#locks.nextDeadline(forgetEveryMs, wokenAt), this.#ledger.nextDeadline(wokenAt));
  }

  /** Whether a command about this key needs to be told what the store has. */
  needsFound(key: string): boolean {
    return !this.#ledger.isLive(key);
  }

  /** Takes back what a store kept, on a fresh machine, and serves what became due meanwhile. */
  restore(image: SpaceImage, now: number, outbox: Outbox): void {
    this.#locks.restore(image, now, outbox);
    this.#ledger.restore(image, (session) => this.#locks.hasSession(session), this.#locks.now, outbox);
  }

  counts(): MachineCounts {
    return { ...this.#locks.counts(), idempotency: this.#ledger.counts() };
  }

  #record(command: IdempotencyCommand, outbox: Outbox): void {
    const { from: to, request } = command;
    if (command.kind !== "begin" || !command.session || this.#locks.hasSession(to)) {
      this.#ledger.step(command, this.#locks.now, outbox);
      return;
    }
    this.#ledger.step(undefined, this.#locks.now, outbox);
    outbox.tell({ kind: "refused", to, request, code: "session_ended", key: command.key });
  }

  /** What the engine told from there on, as far as it ends begins. */
  #dropEnded(told: number, outbox: Outbox): void {
    const ended: string[] = [];
    for (let i = told; i < outbox.effectCount; i++) {
      const effect = outbox.effects[i];
      if (effect?.kind === "session_ended") ended.push(effect.to);
    }
    if (ended.length > 0) this.#ledger.drop(ended, this.#locks.now, outbox);
  }
}

/** Whether the command is about one record, so that it is to bring along what the store has. */
export function isAboutRecord(command: Command): command is RecordCommand {
  return isAboutRecords(command) && command.kind !== "cancel_begin";
}

function isAboutRecords(command: Command): command is IdempotencyCommand {
  switch (command.kind) {
    case "begin":
    case "complete":
    case "fail":
    case "extend_attempt":
    case "forget":
    case "record_status":
    case "cancel_begin":
      return true;
    default:
      return false;
  }
}
