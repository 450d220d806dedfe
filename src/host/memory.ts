/** What a connection is made from again when the program's memory was lost and its socket was not. Small, and plain data. */

import type { Shown } from "./auth.ts";
import type { HostParts } from "./parts.ts";
import type { SessionFacts } from "./session.ts";

export interface ConnectionMemory {
  readonly shown: Shown;
  /** The space that the URL of the upgrade named. */
  readonly space?: string | undefined;
  /** Until when it must say hello, as long as it has no session. */
  readonly helloBy: number;
  /** From the welcome on. */
  readonly session?: SessionFacts | undefined;
  readonly graceMs: number;
  /** Not before this was it heard last. */
  readonly heardAt: number;
  readonly pingAt: number;
}

/** How far what is remembered of the last sign of life may lag behind, so that not every frame costs a write. */
export function heardLagMs({ heartbeatMs }: HostParts["settings"]): number {
  return Math.min(heartbeatMs / 2, 1000);
}

/** When the next ping is due. */
export function pingAfter(now: number, { hibernation, settings }: Pick<HostParts, "hibernation" | "settings">): number {
  const { heartbeatMs } = settings;
  if (hibernation === undefined) return now + heartbeatMs;
  const phaseMs = hibernation.pingPhaseMs % heartbeatMs;
  return (Math.floor((now - phaseMs) / heartbeatMs) + 1) * heartbeatMs + phaseMs;
}
