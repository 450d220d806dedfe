/** Spaces that are served outside of this process and shared with others: what a host asks of a fleet. */

import type { MachineOptions } from "../core/index.ts";
import type { LockPort, LockReceiver } from "./lock-port.ts";
import type { Timers } from "./timers.ts";

export interface FleetPort {
  /** Takes part in a space, under a name of its own. */
  connect(parts: SharedSpaceParts): SharedSpace;
  /** Whether what serves the spaces answers now. Never rejects, and takes no longer than a reader of `/readyz` waits. */
  isAvailable(): Promise<boolean>;
}

export interface SharedSpaceParts {
  readonly name: string;
  readonly receiver: LockReceiver;
  readonly timers: Timers;
  readonly limits: NonNullable<MachineOptions["limits"]>;
  /** After the space was found empty nothing is granted for so long. */
  readonly quarantineMs: number;
  /** This process has no part in the space any more: it was cut off, or what serves the space fails. Before the receiver is told. */
  readonly onLost: (space: SharedSpace) => void;
  /** Nobody has listened for a while, and it has left. */
  readonly onIdle: (space: SharedSpace) => void;
}

export interface SharedSpace extends LockPort {
  readonly name: string;
  /** It changes when what was held is forgotten. Known before the first effect is told. */
  readonly epoch: number;
  /**
   * Up to then, in `Clock.now()` time, the others leave our sessions alone even if this process stops here. What a client is told must
   * not let it believe longer than that.
   */
  readonly vouchedUntil: number;
  /** Says good-bye: what is left of ours ends or waits to be resumed elsewhere, as on a crash, and at once. Never rejects. */
  leave(): Promise<void>;
}
