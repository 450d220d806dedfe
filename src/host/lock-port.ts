/**
 * What sessions and HTTP calls speak to, one for each space: commands go in, effects come out. The engine in
 * this process is one implementation (`space.ts`).
 */

import type { Command, Effect, EngineCounts, MachineCounts } from "../core/index.ts";
import type { Image } from "../core/record.ts";

export interface LockPort {
  /** Takes the command and returns; what it brings about is told to the receiver, now or later. Never throws for what a client did. */
  submit(command: Command): void;
  /** Whether what was submitted is answered, or told that it waits, within this turn of the event loop. Absent: it may take longer. */
  readonly isPrompt?: boolean;
  /** Resolves when nothing that was submitted is under way any more. */
  settled(): Promise<void>;
  /**
   * Calls `hear` with the keys of which a status may say something else than before, after the effects that came about with that; undefined: any
   * key may be among them. One at a time. Returns what ends it.
   */
  watch(hear: Hear): () => void;
  counts(): (EngineCounts & Partial<MachineCounts>) | undefined;
}

export type Hear = (keys: ReadonlySet<string> | undefined) => void;

export interface LockReceiver {
  /** In the order in which things came about, and only once they are committed. */
  effect(effect: Effect): void;
  /**
   * The space has stopped. Nothing more will be told: what was submitted and not answered may or may not have
   * happened, and sessions must come back to learn what is left.
   */
  stopped(): void;
  /** Another process has taken the session over: its connection here is to be closed, and its end means nothing any more. */
  moved?(session: string): void;
  /** No answer can be had for now. The command is not withdrawn: it may still be carried out, and its effects be told then. */
  unavailable?(command: Command): void;
  /** The space is loaded, and this is what the store had; told once, after what loading brought about. */
  restored?(image: Image): void;
  /** Whether a connection from an earlier life of this program speaks for the session. */
  isConnected?(session: string): boolean;
  /** Whether nobody listens: no session has a connection, no call waits. */
  readonly isVacant: boolean;
}
