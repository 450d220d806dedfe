/** Eight that all want one key, through everything that keeps locks in this Redis. */

import { jain, median } from "../figures.ts";
import type { BenchClient } from "../drivers/driver.ts";
import { type Contender, openParty, overRest, overTcp } from "./contenders.ts";
import type { Findings } from "./findings.ts";
import type { Spent } from "./meter.ts";
import type { Site } from "./site.ts";
import type { Turns } from "./turns.ts";
import { Watch } from "./watch.ts";

const CLIENTS = 8;
/** Long enough for those who poll to see several of their own pauses. */
const TURN_MS = 1500;
const ROUNDS_MAX = 3;

interface Turn extends Spent {
  /** Who was granted, one after the other. */
  readonly grants: readonly number[];
}

export async function measurePeers(site: Site, { rounds }: Turns, findings: Findings): Promise<void> {
  const turnsMax = Math.min(rounds, ROUNDS_MAX);
  const contenders = [
    ...overTcp(site).map((contender) => ({ contender, where: "" })),
    ...overRest(site).map((contender) => ({ contender, where: ", over REST" })),
  ];
  const turns: Turn[][] = contenders.map(() => []);
  for (let round = 0; round < turnsMax; round++) {
    for (const [index, { contender }] of contenders.entries()) {
      turns[index]?.push(await run(site, contender, findings));
    }
  }
  findings.table(`${CLIENTS} clients, one key`, [
    ["", "cycles/s", "round trips", "µs of Redis", "Jain", "to itself"],
    ...contenders.map(({ contender, where }, index) => {
      const of = (figure: (turn: Turn) => number): number => median((turns[index] ?? []).map(figure));
      return [
        `${contender.name}${where}`,
        of(({ grants, wallMs }) => (grants.length * 1000) / wallMs),
        of(({ grants, roundTrips }) => roundTrips / grants.length),
        of(({ grants, redisMs }) => (redisMs * 1000) / grants.length),
        of(({ grants }) => jain(countsOf(grants))),
        `${Math.round(100 * of(({ grants }) => toItself(grants)))} %`,
      ];
    }),
  ]);
  findings.note("round trips and µs of Redis: for a cycle of acquire and release, tries that failed included");
  findings.note("Jain: 1 is fair; to itself: grants that went back to whoever had just let go");
}

async function run({ meter }: Site, contender: Contender, findings: Findings): Promise<Turn> {
  const watch = new Watch(findings.violation);
  const party = await openParty(contender, CLIENTS, watch);
  const grants: number[] = [];
  const cycle = async (client: BenchClient, index: number): Promise<void> => {
    const held = await client.acquire("contended", {});
    grants.push(index);
    await held.release();
  };
  try {
    await cycle(party.clients[0]!, 0);
    grants.length = 0;
    const spent = await meter.spent(async () => {
      const until = performance.now() + TURN_MS;
      await Promise.all(
        party.clients.map(async (client, index) => {
          while (performance.now() < until) await cycle(client, index);
        }),
      );
    });
    return { ...spent, grants };
  } finally {
    await party.close();
  }
}

function countsOf(grants: readonly number[]): number[] {
  const counts = Array.from({ length: CLIENTS }, () => 0);
  for (const index of grants) counts[index] = (counts[index] ?? 0) + 1;
  return counts;
}

function toItself(grants: readonly number[]): number {
  return grants.filter((index, i) => i > 0 && grants[i - 1] === index).length / grants.length;
}
