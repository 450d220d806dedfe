/** One holds, one waits: how long until the second has the lock when the first one goes without a word, and when it lets go. */

import { once } from "node:events";
import { setImmediate as turnOfLoop, setTimeout as sleep } from "node:timers/promises";
import type { Cut } from "../drivers/driver.ts";
import { median } from "../figures.ts";
import type { Crew } from "./crew.ts";
import { monotonicNs } from "./gate.ts";
import type { Victims } from "./victims.ts";

/** Until the second stands in line, ms. */
const QUEUE_MS = 2;

/** For each process that is killed: it takes long to start one, and a release costs little. */
const RELEASES_EACH = 5;

/** Between two turns of the loop of a process that is awake. */
const AWAKE_NS_MAX = 100_000;

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

/**
 * The same with a process that is killed. The kernel needs milliseconds to clear it away before anybody can know of its
 * end, so the score runs from the end of a bare socket of that process. This process stays awake, also for the releases:
 * one that is woken for both would see them at once.
 */
export async function killAndRelease(crew: Crew, victims: Victims, ms: number): Promise<number> {
  const { gate, record } = crew;
  const until = monotonicNs() + ms * 1e6;
  const fromEnd: number[] = [];
  gate.open();
  do {
    const ns = await kill(crew, victims);
    if (ns !== undefined) fromEnd.push(ns);
    for (let i = 0; i < RELEASES_EACH; i++) await handOff(crew, "release", awake);
  } while (monotonicNs() < until);
  gate.close();
  // What the record saw began with the call of kill, and is told beside.
  record.cutScores = fromEnd;
  return median(record.scores);
}

async function handOff(crew: Crew, end: Cut | "release", wait: typeof awake = (promise) => promise): Promise<void> {
  const first = await crew.take(0);
  const second = crew.take(1);
  await sleep(QUEUE_MS);
  if (end === "release") crew.give(first).catch(crew.broken);
  else crew.crash(first, end);
  await crew.give(await wait(second));
}

/** Undefined: this process was kept from running just then, and cannot tell. */
async function kill(crew: Crew, victims: Victims): Promise<number | undefined> {
  const { child, socket } = await victims.next();
  const { gate, record } = crew;
  const granted = crew.tookElsewhere(0);
  const second = crew.take(1);
  await sleep(QUEUE_MS);
  let turnedAtNs = gate.nowNs();
  const ended = Promise.race([once(socket, "end"), once(socket, "close")]).then(() => {
    const atNs = gate.nowNs();
    return { atNs, sinceTurnNs: atNs - turnedAtNs };
  });
  record.releasing(granted, gate.nowNs(), true);
  child.kill("SIGKILL");
  const [taken, { atNs, sinceTurnNs }] = await awake(Promise.all([second, ended]), () => {
    turnedAtNs = gate.nowNs();
  });
  await crew.give(taken);
  return sinceTurnNs > AWAKE_NS_MAX ? undefined : taken.granted.atNs - atNs;
}

/** Asks the sockets over and over in the place of sleeping. */
async function awake<T>(promise: Promise<T>, turned: () => void = () => undefined): Promise<T> {
  const turn: unique symbol = Symbol();
  for (;;) {
    turned();
    const found = await Promise.race([promise, turnOfLoop(turn)]);
    if (found !== turn) return found;
  }
}
