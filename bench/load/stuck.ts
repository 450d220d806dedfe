/** Whether somebody waits for what does not come. */

const TICK_MS = 100;
/** Half a minute in which nothing moved, though this process could run all the time. */
const TICKS_MAX = 300;

/**
 * Rejects when `steps` has not changed for so many turns of a timer. Turns, not time: on a machine that stood still
 * nobody has waited, so that a slow machine is never taken for a lost wake-up.
 */
export async function orStuck<T>(run: () => Promise<T>, steps: () => number): Promise<T> {
  const stuck = Promise.withResolvers<never>();
  let last = steps();
  let ticks = 0;
  const timer = setInterval(() => {
    const now = steps();
    ticks = now === last ? ticks + 1 : 0;
    last = now;
    if (ticks < TICKS_MAX) return;
    stuck.reject(new Error("stuck: nobody was granted anything for half a minute"));
  }, TICK_MS);
  try {
    return await Promise.race([run(), stuck.promise]);
  } finally {
    clearInterval(timer);
  }
}
