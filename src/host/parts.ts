/** What the parts of one host share. */

import type { Keyring } from "./auth.ts";
import type { Departures } from "./departures.ts";
import type { KeyNames } from "./keys.ts";
import type { Looks } from "./looks.ts";
import type { Metrics } from "./metrics.ts";
import type { Pause } from "./pauses.ts";
import type { Clock, Hibernation, Mint, Share, Store } from "./ports.ts";
import type { RequestNames } from "./request-names.ts";
import type { HostSettings } from "./settings.ts";
import type { Switchboard } from "./switchboard.ts";
import type { Timers } from "./timers.ts";
import type { FanOut } from "./watch/fan-out.ts";
import type { Streams } from "./watch/streams.ts";
import type { Wire } from "./wire.ts";

export interface HostParts {
  readonly clock: Clock;
  readonly mint: Mint;
  readonly requests: RequestNames;
  readonly store: Pick<Store, "durable" | "epoch">;
  readonly settings: HostSettings;
  readonly timers: Timers;
  readonly metrics: Metrics;
  readonly keyring: Keyring;
  readonly keys: KeyNames;
  readonly wire: Wire;
  readonly departures: Departures;
  readonly pause: Pause;
  readonly fanOut: FanOut;
  readonly streams: Streams;
  readonly onError: OnError;
  /** As in HostPorts. */
  readonly hasDearSignals: boolean;
  readonly looks: Looks;
  /** As in `Arrivals`. */
  turnsToKnow(): number;
  readonly hibernation: Hibernation | undefined;
  readonly share: Share | undefined;
  /** Whether the host takes no new work any more. */
  isDraining(): boolean;
  /**
   * The space's switchboard; undefined when too many spaces are in use. Ask anew before each use that does not
   * itself listen to the space: one that nobody listens to is unloaded.
   */
  board(space: string): Switchboard | undefined;
}

/** Errors that no caller can be told in detail. */
export type OnError = (error: unknown, about: { readonly where: string }) => void;
