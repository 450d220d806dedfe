/** One holds, one waits: how long until the second has the lock when the first one goes without a word, and when it lets go. */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cut } from "../drivers/driver.ts";
import { median } from "../figures.ts";
import type { Crew } from "./crew.ts";
import { monotonicNs } from "./gate.ts";
import type { Victims } from "./victims.ts";

/** Until the second stands in line, ms. */
const QUEUE_MS = 2;

/** For each process that is killed: it takes long to start one, and a release costs little. */
const RELEASES_EACH = 5;

/** Cuts and releases in turn. Resolves with the median of the hand-offs by release, ns. */
export async function dropAndRelease(crew: Crew, cut: Cut, ms: number): Promise<number> {
  const { gate, record } = crew;
  const until = monotonicNs() + ms * 1e6;
  gate.open();
  do {
    await handOff(crew, cut);
    await crew.reconnect(0);
    await handOff(crew, "release");
  } while (monotonicNs() < until);
  gate.close();
  return median(record.scores);
}

/** The same with a process that is killed. The score runs from when the kernel let go of its sockets. */
export async function killAndRelease(crew: Crew, victims: Victims, ms: number): Promise<number> {
  const { gate, record } = crew;
  const until = monotonicNs() + ms * 1e6;
  const fromEnd: number[] = [];
  gate.open();
  do {
    fromEnd.push(await kill(crew, victims));
    for (let i = 0; i < RELEASES_EACH; i++) await handOff(crew, "release");
  } while (monotonicNs() < until);
  gate.close();
  // What the record saw began with the call of kill, and is told beside.
  record.cutScores = fromEnd;
  return median(record.scores);
}

async function handOff(crew: Crew, end: Cut | "release"): Promise<void> {
  const first = await crew.take(0);
  const second = crew.take(1);
  await sleep(QUEUE_MS);
  if (end === "release") crew.give(first).catch(crew.broken);
  else crew.crash(first, end);
  await crew.give(await second);
}

async function kill(crew: Crew, victims: Victims): Promise<number> {
  const { child, socket } = await victims.next();
  const { gate, record } = crew;
  const granted = crew.tookElsewhere(0);
  const second = crew.take(1);
  await sleep(QUEUE_MS);
  const ended = Promise.race([once(socket, "end"), once(socket, "close")]).then(() => gate.nowNs());
  record.releasing(granted, gate.nowNs(), true);
  child.kill("SIGKILL");
  const [taken, seenAtNs] = await Promise.all([second, ended]);
  await crew.give(taken);
  return taken.granted.atNs - (seenAtNs - victims.oneWayNs);
}
