/** All queue behind one, which lets go: how long until the last has had its turn. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Crew } from "./crew.ts";
import { monotonicNs } from "./gate.ts";

/** Until all stand in line, ms: a fixed time, and some for each. */
const QUEUE_MS = 20;
const QUEUE_EACH_MS = 0.2;

/** As many passes as fit into a slice, and one at least. */
export async function drain(crew: Crew, ms: number): Promise<void> {
  const until = monotonicNs() + ms * 1e6;
  do await pass(crew);
  while (monotonicNs() < until && crew.error === undefined);
}

/** Client 0 is the one in front. */
async function pass(crew: Crew): Promise<void> {
  const { gate, record } = crew;
  const first = await crew.take(0);
  const others = crew.clients.slice(1).map(async (_client, index) => {
    const taken = await crew.take(index + 1);
    const atNs = gate.nowNs();
    await crew.give(taken);
    return atNs;
  });
  await sleep(QUEUE_MS + QUEUE_EACH_MS * others.length);
  gate.open();
  const beganNs = gate.nowNs();
  await crew.give(first);
  const ends = await Promise.all(others);
  record.passes.push(Math.max(...ends) - beganNs);
  gate.close();
}
