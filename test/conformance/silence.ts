/** A connection that never says hello. */

import { openSocket } from "./socket.ts";

export interface Silence {
  readonly code: number;
  /** Counted from before it was made. */
  readonly afterMs: number;
}

/** How it ends. */
export async function silence(socketUrl: string): Promise<Silence> {
  const startedAt = performance.now();
  const silent = await openSocket(socketUrl);
  const { code } = await silent.closed;
  return { code, afterMs: performance.now() - startedAt };
}
