/** One timer over the native one of Bun, Deno and Node. */

import type { Alarm, Clock } from "./ports.ts";

export interface NativeTimers {
  set(call: () => void, delayMs: number): unknown;
  clear(timer: unknown): void;
}

export interface TimerAlarm extends Alarm {
  /** No call comes any more, whatever is set. */
  stop(): void;
}

/** A longer delay is no delay: the runtimes' timers fire at once. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/**
 * Calls `wake` at or after the instant that was set last. A native timer is only a hint: many fire up to a ms early
 * (on Bun 41 in 100, on Node 71), so each looks at the clock and sleeps again for what is left.
 */
export function createAlarm(clock: Clock, wake: () => void, timers: NativeTimers = nativeTimers): TimerAlarm {
  let at = Number.POSITIVE_INFINITY;
  let timer: unknown;
  let firesAt = Number.POSITIVE_INFINITY;
  let isStopped = false;

  const sleep = (now: number): void => {
    const delayMs = Math.min(Math.ceil(Math.max(at - now, 0)), DELAY_MAX_MS);
    firesAt = now + delayMs;
    timer = timers.set(fire, delayMs);
  };

  const fire = (): void => {
    firesAt = Number.POSITIVE_INFINITY;
    if (at === Number.POSITIVE_INFINITY) return;
    const now = clock.now();
    if (now < at) {
      sleep(now);
      return;
    }
    at = Number.POSITIVE_INFINITY;
    wake();
  };

  return {
    set(next) {
      if (isStopped) return;
      at = next;
      // A timer that fires sooner is left alone: it will look at `at` again. Leases are mostly set later and later, and
      // each change of a native timer costs more than a grant.
      if (next >= firesAt) return;
      if (firesAt !== Number.POSITIVE_INFINITY) timers.clear(timer);
      sleep(clock.now());
    },
    stop() {
      isStopped = true;
      at = Number.POSITIVE_INFINITY;
      timers.clear(timer);
    },
  };
}

/** A server is kept alive by its socket; without one, waiting for a lease to end must not keep a process alive. */
export const nativeTimers: NativeTimers = {
  set(call, delayMs) {
    const timer: unknown = setTimeout(call, delayMs);
    if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function") {
      timer.unref();
    } else {
      unrefInDeno(timer);
    }
    return timer;
  },
  clear(timer) {
    clearTimeout(timer as Parameters<typeof clearTimeout>[0]);
  },
};

/** Deno's timers are numbers, as in browsers. */
function unrefInDeno(timer: unknown): void {
  const { Deno } = globalThis as { Deno?: { unrefTimer?: (timer: unknown) => void } };
  Deno?.unrefTimer?.(timer);
}
