import { CHECK_MS, JUMP_MS, NEVER, type Ports } from "./clock.ts";

/** Timers are not set further ahead than this, ms. */
const TIMER_MAX_MS = 60_000;

/**
 * The one timer of a session, which the returned function sets. One that is set and goes off earlier is left alone: most steps only
 * move a deadline further away. `holding`: then a suspend of the machine must not go unnoticed. `isLate`: so much that it may have slept.
 */
export function waker(
  ports: Ports,
  now: () => number,
  wake: (isLate: boolean) => void,
): (at: number, holding: boolean) => void {
  let cancel: (() => void) | undefined;
  let goesOffAt = NEVER;
  return (at, holding) => {
    const time = now();
    const timedAt = Math.min(at, time + (holding ? CHECK_MS : TIMER_MAX_MS));
    if (at !== NEVER && timedAt >= goesOffAt) return;
    cancel?.();
    goesOffAt = NEVER;
    if (at === NEVER) return;
    goesOffAt = timedAt;
    cancel = ports.timer(Math.max(0, Math.ceil(timedAt - time)), () => {
      goesOffAt = NEVER;
      wake(now() >= timedAt + JUMP_MS);
    });
  };
}
