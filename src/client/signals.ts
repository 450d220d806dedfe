/** Calls `act` once, when the signal aborts or at once if it has. */
export function onAbort(signal: AbortSignal | undefined, act: () => unknown): void {
  if (signal?.aborted) act();
  else signal?.addEventListener("abort", act, { once: true });
}
