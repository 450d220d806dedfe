/** Who waits for an answer. */
export interface Waiter {
  resolve(value: never): void;
  reject(error: Error): void;
}

/** How something is asked for and taken back. */
export interface Asking<Asked> {
  readonly ask: (call: Waiter) => Asked;
  readonly cancel: (asked: Asked) => void;
}

/** Asks, and takes it back when the signal aborts. `give`: from what was told, before anything else is heard. */
export function waitFor<Asked, Given>(
  signal: AbortSignal | undefined,
  { ask, cancel }: Asking<Asked>,
  give: (told: never) => Given,
): Promise<Given> {
  return new Promise((resolve, reject) => {
    let waiting = true;
    let asked: Asked | undefined;
    const stop = (): void => {
      if (asked !== undefined) cancel(asked);
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
    if (!isAborted()) asked = ask(call);
    // The asking may have told of a loss, and whoever heard that may have aborted the signal.
    if (isAborted()) stop();
    else if (waiting) signal?.addEventListener("abort", stop, { once: true });
  });
}
