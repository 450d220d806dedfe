/** Work that is put off: to where the runtime has read what has arrived meanwhile, or for some ms. */

import { nativeTimers } from "./alarm.ts";

/**
 * Calls `go` once, not within this call. 0: after what has arrived was served, so that nobody waits for all of what can be done
 * in pieces. Unlike an alarm it leaves nothing behind when the program's memory is lost, and is not for more than moments.
 */
export type Pause = (ms: number, go: () => void) => void;

export function nativePause(ms: number, go: () => void): void {
  // Not everywhere is there a way to come back after reading: a timer comes later, but it comes.
  if (ms <= 0 && typeof setImmediate === "function") setImmediate(go);
  else nativeTimers.set(go, Math.max(ms, 0));
}
