/** The last calls of a process in a space. */

import type { Command } from "../core/index.ts";
import type { FleetAnswer, FleetCall } from "./script.ts";

/** Commands under the number of their call. */
export interface Said {
  readonly number: number;
  readonly commands: readonly Command[];
}

/** Says first what has no answer yet, then the rest, with the good-bye. Never rejects: what cannot be said is left to the lease. */
export async function farewell(
  call: (call: FleetCall) => Promise<FleetAnswer>,
  head: Omit<FleetCall, "batch" | "commands">,
  unanswered: Said | undefined,
  batchLast: number,
  commands: readonly Command[],
): Promise<void> {
  try {
    let rest = commands;
    if (unanswered !== undefined) {
      const { served } = await call({ ...head, batch: unanswered.number, commands: unanswered.commands });
      rest = [...unanswered.commands.slice(served), ...rest];
    }
    for (let batch = batchLast + 1; ; batch++) {
      const { served, standing } = await call({ ...head, batch, leave: true, commands: rest });
      rest = rest.slice(served);
      if (rest.length === 0 || standing === "unknown") return;
    }
  } catch {
    // Redis is away, and so are we.
  }
}
