/** The totals over all spaces at the time of asking. */

import type { Gauges } from "./metrics.ts";
import type { Switchboard } from "./switchboard.ts";

export function gaugesOf(boards: ReadonlyMap<string, Switchboard>, sockets: number, streams: number): Gauges {
  const totals = { sessions: 0, keys: 0, holding: 0, waiting: 0, attempts: 0, calls: 0, watches: 0 };
  for (const { port, calls, sessions, watches } of boards.values()) {
    const counts = port.counts();
    // A space that is shared with other processes is not this one's to count: its own sessions are.
    totals.sessions += counts?.sessions ?? sessions.count;
    totals.keys += counts?.keys ?? 0;
    totals.holding += counts?.holding ?? 0;
    totals.waiting += counts?.waiting ?? 0;
    totals.attempts += counts?.idempotency?.running ?? 0;
    totals.calls += calls.count;
    totals.watches += watches.count;
  }
  return { spaces: boards.size, sockets, streams, ...totals };
}
