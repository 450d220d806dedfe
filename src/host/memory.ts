/** What a connection is made from again when the program's memory was lost and its socket was not. Small, and plain data. */

import type { Shown } from "./auth.ts";
import type { SessionFacts } from "./session.ts";
import type { WatchMemory } from "./watch/session-watches.ts";

export interface ConnectionMemory {
  readonly shown: Shown;
  /** The space that the URL of the upgrade named. */
  readonly space?: string | undefined;
  /** Until when it must say hello, as long as it has no session. */
  readonly helloBy: number;
  /** From the welcome on. */
  readonly session?: SessionFacts | undefined;
  readonly graceMs: number;
  /** What the session watches. */
  readonly watches?: readonly WatchMemory[] | undefined;
  /** Not before this was it heard last. */
  readonly heardAt: number;
  readonly pingAt: number;
}
