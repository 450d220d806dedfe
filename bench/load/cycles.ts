/** All clients take, hold and let go, over and over. Between slices whoever is granted holds on, and the queue stands. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Crew } from "./crew.ts";

/** For what is under way when a slice ends. */
const SETTLE_MS = 5;

export function startCycles(crew: Crew): (ms: number) => Promise<void> {
  for (let client = 0; client < crew.clients.length; client++) {
    cycle(crew, client).catch(crew.broken);
  }
  return async (ms) => {
    crew.gate.open(ms);
    await sleep(ms);
    crew.gate.close();
    await sleep(SETTLE_MS);
  };
}

async function cycle(crew: Crew, client: number): Promise<void> {
  const { gate, scenario } = crew;
  await gate.pass();
  while (crew.error === undefined) {
    const taken = await crew.take(client);
    if (!gate.isOpen) await gate.pass();
    if (scenario.holdMs > 0) {
      await sleep(scenario.holdMs);
      if (!gate.isOpen) await gate.pass();
    }
    await crew.give(taken);
  }
}
