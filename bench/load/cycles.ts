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
  const { gate, scenario, driver } = crew;
  await gate.pass();
  let taken = await crew.take(client);
  while (crew.error === undefined) {
    if (!gate.isOpen) await gate.pass();
    if (scenario.holdMs > 0) {
      await sleep(scenario.holdMs);
      if (!gate.isOpen) await gate.pass();
    }
    const giving = crew.give(taken);
    // Whoever can let go and queue again in one go does so; the others hear first that the one is done.
    if (!driver.can.ordered) await giving;
    [taken] = await Promise.all([crew.take(client), giving]);
  }
}
