import type { OnError } from "./locks.ts";

/** Calls the user's function in a turn of its own: whatever it throws is an uncaught error there, and breaks nothing here. */
export function reporter(onError: OnError | undefined): OnError {
  return (error, context) => queueMicrotask(() => onError?.(error, context));
}
