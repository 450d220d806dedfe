/** All queue behind one, which lets go: how long until the last has had its turn. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Crew } from "./crew.ts";

/** Until all stand in line, ms: a fixed time, and some for each. */
const QUEUE_MS = 20;
const QUEUE_EACH_MS = 0.2;

/** One pass; client 0 is the one in front. */
export async function drainOnce(crew: Crew): Promise<void> {
  const { gate, record } = crew;
  const first = await crew.take(0);
  const others = crew.clients.slice(1).map(async (_client, index) => {
    const taken = await crew.take(index + 1);
    const atNs = gate.nowNs();
    await crew.give(taken);
    return atNs;
  });
  await sleep(QUEUE_MS + QUEUE_EACH_MS * others.length);
  record.beginSlice();
  gate.open();
  const beganNs = gate.nowNs();
  await crew.give(first);
  const ends = await Promise.all(others);
  record.scores = [Math.max(...ends) - beganNs];
  gate.close();
}
