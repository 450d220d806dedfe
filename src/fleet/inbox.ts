/** Commands that wait for a call, in the order in which they came. */

import type { Command } from "../core/index.ts";
import { RESULT_BYTES_MAX } from "../protocol/limits.ts";
import type { Said } from "./farewell.ts";
import { divided } from "./full.ts";

/** What goes with a call. */
export interface Batch extends Said {
  /** Nothing was due as far as we knew: what it brings was caused by others, and pushed. */
  readonly isPoll: boolean;
  /** Made while Redis is full. */
  readonly isFreeing: boolean;
}

/** More go with the next call: Redis does nothing else while it serves one. */
const BATCH_COMMANDS_MAX = 128;
/** Of all results in a call, as that of one may be by itself: Upstash takes requests of 10 MB, in which a byte may be seven. */
const BATCH_RESULT_BYTES_MAX = RESULT_BYTES_MAX;

export class Inbox {
  #commands: Command[] = [];

  get commands(): readonly Command[] {
    return this.#commands;
  }

  put(command: Command): void {
    this.#commands.push(command);
  }

  /** They have been taken, and were not carried out. */
  putBack(commands: readonly Command[]): void {
    this.#commands.unshift(...commands);
  }

  /** For the next call. `isFull`: of what Redis takes although it is full. */
  take(isFull: boolean): readonly Command[] {
    if (!isFull) return this.#commands.splice(0, batchLength(this.#commands));
    const { going, kept } = divided(this.#commands);
    const taken = going.splice(0, batchLength(going));
    this.#commands = [...going, ...kept];
    return taken;
  }
}

function batchLength(commands: readonly Command[]): number {
  let bytes = 0;
  const end = commands.findIndex((command, i) => {
    if (command.kind === "complete") bytes += command.result.length;
    return i >= BATCH_COMMANDS_MAX || (i > 0 && bytes > BATCH_RESULT_BYTES_MAX);
  });
  return end === -1 ? commands.length : end;
}
