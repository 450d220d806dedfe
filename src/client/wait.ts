import type { Claims, SessionLink } from "./addition.ts";
import type { Entry } from "./session-types.ts";

/** Who waits for an answer. */
export interface Waiter {
  resolve(value: never): void;
  reject(error: Error): void;
}

/** Asks, and takes it back when the signal aborts. `give`: from what was told, before anything else is heard. */
export function waitIn<Given>(
  session: Pick<SessionLink, "claims">,
  signal: AbortSignal | undefined,
  ask: (call: Waiter, claims: Claims) => Entry<Waiter> | undefined,
  give: (told: never) => Given,
): Promise<Given> {
  return new Promise((resolve, reject) => {
    let waiting = true;
    let entry: Entry<Waiter> | undefined;
    const stop = (): void => {
      session.claims((claims) => claims.cancel(entry));
      reject(signal?.reason as Error);
    };
    const settled = (): void => {
      waiting = false;
      signal?.removeEventListener("abort", stop);
    };
    const call: Waiter = {
      resolve(told) {
        settled();
        resolve(give(told));
      },
      reject(error) {
        settled();
        reject(error);
      },
    };
    const isAborted = (): boolean => signal?.aborted === true;
    if (!isAborted()) entry = session.claims((claims) => ask(call, claims));
    // The asking may have told of a loss, and whoever heard that may have aborted the signal.
    if (isAborted()) stop();
    else if (waiting) signal?.addEventListener("abort", stop, { once: true });
  });
}
