/** Tells the holder of a lock that others want it: a watch of the key, for as long as the lock is held. */

import type { KeyWatch } from "./watch.ts";
import type { AccessAsk } from "./watch-types.ts";

/** How much others want a lock. */
export interface Contended {
  /** How many wait. */
  readonly waiting: number;
  /** Who asks for it, in queue order. */
  readonly asks: readonly AccessAsk[];
}

export type ContendedListener = (event: CustomEvent<Contended>) => void;

/** `watch` shows the key. Its target gets `contended` events as well, until it is closed. */
export function tellOf(watch: KeyWatch): void {
  let told = "0,[]";
  const tell = (): void => {
    const { waiting = 0, asks = [] } = watch.state ?? {};
    const now = `${waiting},${JSON.stringify(asks)}`;
    if (now === told) return;
    told = now;
    watch.target.dispatchEvent(new CustomEvent("contended", { detail: { waiting, asks } satisfies Contended }));
  };
  watch.addEventListener("change", tell);
  tell();
}
