/** `<latch-gate>`: a part of a page that works only while its lock is held. Safe to import where there is no page. */

import { claimStoreOf } from "../claim-store/index.ts";
import type { Client } from "../client/index.ts";
import { gateClass } from "./latch-gate.ts";

export type {
  LatchGate,
  LatchGateEventMap,
  LockAcquiredDetail,
  LockLostDetail,
  LockQueueDetail,
} from "./latch-gate-types.ts";

export interface LatchGateOptions {
  /** The name of the element. Default `latch-gate`; another one is for another client. */
  readonly name?: string;
}

/**
 * Defines the element for a client, whose claims all gates and all hooks of `latchkey/react` on the page share. Where there are
 * no custom elements, as on a server that renders the page, it does nothing. Throws a `NotSupportedError` when the name is taken.
 */
export function defineLatchGate(client: Client, { name = "latch-gate" }: LatchGateOptions = {}): void {
  if (typeof customElements === "undefined") return;
  customElements.define(name, gateClass(claimStoreOf(client)));
}
