/** One holds, one waits: how long until the second has the lock when the first one's connection is cut, and when it lets go. */

import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../figures.ts";
import type { Crew } from "./crew.ts";
import { monotonicNs } from "./gate.ts";

/** Until the second stands in line, ms. */
const QUEUE_MS = 2;

/** Resolves with the median of the hand-offs by release, ns; those by drop are the slice's scores. */
export async function dropAndRelease(crew: Crew, ms: number): Promise<number> {
  const { gate, record } = crew;
  const releases: number[] = [];
  gate.open();
  const until = monotonicNs() + ms * 1e6;
  while (monotonicNs() < until) {
    record.scores.push(await handOff(crew, true));
    crew.clients[0] = await crew.opened.connect(0, crew.broken);
    releases.push(await handOff(crew, false));
  }
  gate.close();
  return median(releases);
}

async function handOff(crew: Crew, isDropped: boolean): Promise<number> {
  const first = await crew.take(0);
  const second = crew.take(1);
  await sleep(QUEUE_MS);
  const beganNs = crew.gate.nowNs();
  if (isDropped) {
    crew.record.releasing(first.granted, beganNs);
    crew.clients[0]?.drop();
  } else {
    crew.give(first).catch(crew.broken);
  }
  const taken = await second;
  await crew.give(taken);
  return taken.granted.atNs - beganNs;
}
