import type { Command } from "../../src/core/command.ts";
import type { Effect } from "../../src/core/effect.ts";
import type { IdempotencyCommand } from "../../src/core/idempotency/command.ts";
import type { LedgerLimits } from "../../src/core/idempotency/limits.ts";
import type { SpaceImage } from "../../src/core/record.ts";
import { LedgerModel } from "./ledger-model.ts";
import { Model } from "./model.ts";
import { addressOf } from "./model-life.ts";
import type { ModelOptions } from "./model-life.ts";
import type { ModelSpace } from "./model-space.ts";

export interface MachineModelOptions extends ModelOptions {
  readonly ledgerLimits: LedgerLimits;
}

/** Both oracles, one after the other, as "A step" of the ledger's RULES.md says. */
export class MachineModel {
  readonly locks: Model;
  readonly ledger: LedgerModel;
  #effects: Effect[] = [];

  constructor(options: MachineModelOptions) {
    this.locks = new Model(options);
    this.ledger = new LedgerModel(options.ledgerLimits, (effect) => this.#effects.push(effect));
  }

  get space(): ModelSpace {
    return this.locks.space;
  }

  get now(): number {
    return this.locks.now;
  }

  /** The image is the whole store: the model also takes the records that rest. */
  restore(image: SpaceImage, now: number): Effect[] {
    this.#effects = this.locks.restore(image, now);
    this.ledger.restore(image, (id) => this.space.session(id) !== undefined, this.now);
    return this.#effects;
  }

  step(command: Command, now: number): Effect[] {
    const isAboutRecords = isIdempotency(command);
    this.#effects = this.locks.step(isAboutRecords ? { kind: "tick" } : command, now);
    this.ledger.enter(this.now);
    this.ledger.drop(this.#effects.filter(({ kind }) => kind === "session_ended").map(({ to }) => to));
    this.ledger.serveDue();
    if (!isAboutRecords) return this.#effects;
    const isOrphan = command.kind === "begin" && command.session && this.space.session(command.from) === undefined;
    if (!isOrphan) this.ledger.obey(command);
    else this.#effects.push({ kind: "refused", ...addressOf(command), code: "session_ended", key: command.key });
    return this.#effects;
  }
}

function isIdempotency(command: Command): command is IdempotencyCommand {
  const kinds = ["begin", "complete", "fail", "extend_attempt", "forget", "record_status", "cancel_begin"];
  return kinds.includes(command.kind);
}
