/** Tells the holder of a lock that others want it, by a watch of its key. */

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

/** The watch gets `contended` events as well. Of keys with a prefix none is the one that is wanted. */
export function tellOfContention(watch: KeyWatch): void {
  let told = "0,[]";
  const tell = (): void => {
    const { waiting = 0, asks = [] } = watch.state ?? {};
    const now = `${waiting},${JSON.stringify(asks)}`;
    if (now === told) return;
    told = now;
    watch.dispatchEvent(new CustomEvent("contended", { detail: { waiting, asks } satisfies Contended }));
  };
  watch.addEventListener("change", tell);
}
