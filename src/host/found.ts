/** Brings along, with a command about an idempotency record, what the store has: seen through the batch that it does not have yet. */

import {
  type Command,
  isAboutRecord,
  type Machine,
  type Outbox,
  type RecordCommand,
  type RecordImage,
} from "../core/index.ts";
import type { Store } from "./ports.ts";

export interface FoundParts {
  readonly space: string;
  readonly store: Pick<Store, "find" | "isFull">;
  readonly outbox: Outbox;
  readonly onError: (error: unknown, about: { readonly where: string }) => void;
}

export class Found {
  readonly #parts: FoundParts;
  /** What the changes since the last commit leave under each key; undefined: nothing. */
  readonly #uncommitted: Map<string, RecordImage | undefined> = new Map();
  /** How many of the outbox's changes are in there. */
  #seenCount = 0;

  constructor(parts: FoundParts) {
    this.#parts = parts;
  }

  /** The command as the machine is to have it. */
  complete(command: Command, machine: Pick<Machine, "needsFound">): Command {
    if (!isAboutRecord(command) || !machine.needsFound(command.key)) return command;
    const found = this.#look(command.key);
    if (found !== undefined) return { ...command, found };
    const isRefusable = command.kind === "begin" && this.#parts.store.isFull?.() === true;
    return isRefusable ? { ...command, isStoreFull: true } : command;
  }

  /** The store has it all. */
  committed(): void {
    this.#seenCount = 0;
    this.#uncommitted.clear();
  }

  #look(key: string): RecordCommand["found"] {
    this.#catchUp();
    if (this.#uncommitted.has(key)) return this.#uncommitted.get(key);
    const { store, space, onError } = this.#parts;
    try {
      return store.find(space, key);
    } catch (error) {
      onError(error, { where: "find" });
      return "unreadable";
    }
  }

  #catchUp(): void {
    const { changes, changeCount } = this.#parts.outbox;
    while (this.#seenCount < changeCount) {
      const change = changes[this.#seenCount++];
      if (change?.kind === "record") this.#uncommitted.set(change.record.key, change.record);
      else if (change?.kind === "record_gone") this.#uncommitted.set(change.key, undefined);
    }
  }
}
