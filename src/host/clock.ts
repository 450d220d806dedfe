/** The clocks of Bun, Deno and Node. */

import type { Clock } from "./ports.ts";

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
};
