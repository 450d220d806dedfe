/** All queue behind one, which lets go: how long until the last has had its turn. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Crew } from "./crew.ts";
import { monotonicNs } from "./gate.ts";

/** Until all stand in line, ms: a fixed time, and some for each. */
const QUEUE_MS = 20;
const QUEUE_EACH_MS = 0.2;

/** Of which a turn gives the median: one pass of a few milliseconds says little. */
const PASSES_MIN = 3;
/** A turn may be so many times as long for it. */
const LONGER_MAX = 3;

/** How many passes a turn has when one takes so long, from the first who asks to the last who lets go. */
export function passesIn(turnMs: number, passMs: number): number {
  return Math.ceil(Math.max(turnMs, Math.min(PASSES_MIN * passMs, LONGER_MAX * turnMs)) / passMs);
}

export async function drain(crew: Crew, ms: number): Promise<void> {
  const beganNs = monotonicNs();
  let count = 0;
  do {
    await pass(crew);
    count += 1;
  } while (crew.error === undefined && count < passesIn(ms, (monotonicNs() - beganNs) / 1e6 / count));
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
