/** How what was started is ended: once, and without waiting for ever. */

/** Whoever does not answer a close, or does not take an answer, is waited for so long. */
export const FAREWELL_MAX_MS = 1000;

/** Every call is for the same end. */
export function once(end: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= end());
}

/** False when it takes longer. */
export async function settlesWithin(maxMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), maxMs);
  });
  try {
    return await Promise.race([work.then(() => true as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
