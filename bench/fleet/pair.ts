/** An acquire and a release that nobody is in the way of: how often that asks Redis, and how long it takes. */

import { createClient } from "redis";
import { Redis } from "@upstash/redis";
import { REST_TOKEN } from "../drivers/fleet.ts";
import type { BenchClient } from "../drivers/driver.ts";
import { type Contender, openParty, overRest, overTcp } from "./contenders.ts";
import type { Cell, Findings } from "./findings.ts";
import type { Spent } from "./meter.ts";
import type { Site } from "./site.ts";
import { type Subject, takeTurns, timed, type Turns } from "./turns.ts";

const GROUPS = 5;
const COUNTED = 40;
const ROUND_TRIPS_MAX = 2;

type Ping = () => Promise<unknown>;

export async function measurePairs(site: Site, turns: Turns, findings: Findings): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const client = createClient({ url: site.redisUrl });
  await client.connect();
  stack.defer(() => client.destroy());
  await compare("over TCP", site, overTcp(site), () => client.ping(), turns, findings);
  const rest = new Redis({ url: site.restUrl, token: REST_TOKEN });
  await compare("over REST", site, overRest(site), () => rest.ping(), turns, findings);
}

async function compare(
  where: string,
  site: Site,
  contenders: readonly Contender[],
  ping: Ping,
  turns: Turns,
  findings: Findings,
): Promise<void> {
  const counts: Cell[][] = [["2", "–"]];
  for (const contender of contenders) counts.push(await countPair(site, contender));
  await using stack = new AsyncDisposableStack();
  const subjects: Subject[] = [{ name: "two PINGs", once: () => timed(async () => [await ping(), await ping()]) }];
  for (const contender of contenders) {
    const party = await openParty(contender, 1);
    stack.defer(() => party.close());
    const client = party.clients[0]!;
    subjects.push({ name: contender.name, once: () => timed(() => pair(client, contender.name)) });
  }
  const times = await takeTurns(subjects, turns);
  findings.table(`an acquire and a release of a free key, ${where}`, [
    ["", "round trips", "µs of Redis", "µs", "÷ two PINGs", "lowest–highest"],
    ...times.map(({ name, micros, ratio, ratioMin, ratioMax }, index) => [
      name,
      ...(counts[index] ?? []),
      micros,
      ratio,
      `${ratioMin.toFixed(1)}–${ratioMax.toFixed(1)}`,
    ]),
  ]);
  for (const [index, { name }] of subjects.entries()) {
    const isOurs = /fleet/.test(name);
    if (isOurs) findings.target(`round trips of a pair, ${name} ${where}`, Number(counts[index]?.[0]), ROUND_TRIPS_MAX);
  }
}

/** With nobody else there: round trips and µs of Redis. A server also polls now and then, which is no part of a pair: the group that it missed counts. */
async function countPair({ meter }: Site, contender: Contender): Promise<Cell[]> {
  const party = await openParty(contender, 1);
  const client = party.clients[0]!;
  const once = (): Promise<void> => pair(client, contender.name);
  await once();
  const groups: Spent[] = [];
  for (let i = 0; i < GROUPS; i++) {
    const spent = await meter.spent(async () => {
      for (let j = 0; j < COUNTED; j++) await once();
    });
    groups.push(spent);
  }
  await party.close();
  const redisMs = groups.reduce((sum, spent) => sum + spent.redisMs, 0);
  return [Math.min(...groups.map((spent) => spent.roundTrips)) / COUNTED, (redisMs * 1000) / (GROUPS * COUNTED)];
}

async function pair(client: BenchClient, key: string): Promise<void> {
  const held = await client.acquire(key, {});
  await held.release();
}
