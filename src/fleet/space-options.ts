/** What a fleet gives to each of its spaces. */

import type { Clock } from "../host/ports.ts";
import type { Listener, Subscription } from "./connector.ts";
import type { FleetAnswer, FleetCall, FleetSettings } from "./script.ts";
import type { FleetSpace } from "./space.ts";

export interface FleetSpaceOptions {
  /** A name for this process, unique for ever; asked for again when the one before is not known any more. */
  readonly newProcess: (space: FleetSpace) => string;
  readonly clock: Clock;
  /** Where Redis publishes letters for this process. */
  readonly channel: string;
  readonly settings: FleetSettings & { readonly leaseMs: number };
  /** Nothing is missing for longer than that. */
  readonly retryMs: number;
  /** Rejects with a FleetError. */
  readonly call: (call: FleetCall) => Promise<FleetAnswer>;
  /** From now on others may have something to tell. */
  readonly onWaiting: () => void;
  /** A letter was found that should have been pushed. */
  readonly onUnheard: () => void;
  readonly onOver: (space: FleetSpace) => void;
  /** Listens to what is published of the space, for those who watch. */
  readonly listen: (listener: Listener) => Subscription;
  readonly onError: (error: unknown, about: { readonly where: string }) => void;
}
