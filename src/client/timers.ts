/** Timers of a client that can be closed: none of them keeps a program from its end after that. */

import type { Ports } from "./clock.ts";

export interface EndableTimers {
  readonly ports: Ports;
  /** Whatever waits for its time is called now; what is set from now on waits only as long as the program has other things to do. */
  end(): void;
}

export function endableTimers(ports: Ports): EndableTimers {
  const waiting = new Set<() => void>();
  let isOver = false;
  const timer: Ports["timer"] = (ms, run, idle = isOver) => {
    if (idle) return ports.timer(ms, run, idle);
    const once = (): void => {
      cancel();
      run();
    };
    const stop = ports.timer(ms, once);
    const cancel = (): void => {
      waiting.delete(once);
      stop();
    };
    waiting.add(once);
    return cancel;
  };
  return {
    ports: { ...ports, timer },
    end() {
      isOver = true;
      for (const run of waiting) run();
    },
  };
}
