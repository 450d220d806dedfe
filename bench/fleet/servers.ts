/** One space on 1, 2 and 4 servers: what a command costs Redis then, which is what bounds them all. */

import { median } from "../figures.ts";
import { fleetServers } from "../drivers/fleet.ts";
import type { BenchClient } from "../drivers/driver.ts";
import { openParty } from "./contenders.ts";
import type { Findings } from "./findings.ts";
import type { Spent } from "./meter.ts";
import type { Site } from "./site.ts";
import type { Turns } from "./turns.ts";

const COUNTS = [1, 2, 4];
const SESSIONS = 64;
const TURN_MS = 500;

interface Turn extends Spent {
  readonly commands: number;
  /** The load generator's own. */
  readonly loadMs: number;
}

export async function measureServers(site: Site, { rounds }: Turns, findings: Findings): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const parties: (readonly BenchClient[])[] = [];
  for (const count of COUNTS) {
    const urls = site.serverUrls.slice(0, count).map((url) => `${url}/v1/session?space=throughput-${count}`);
    const party = await openParty({ name: `${count} servers`, driver: fleetServers, url: urls.join(" ") }, SESSIONS);
    stack.defer(() => party.close());
    parties.push(party.clients);
  }
  const turns: Turn[][] = COUNTS.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [index, clients] of parties.entries()) {
      const turn = await run(site, clients);
      if (round > 0) turns[index]?.push(turn);
    }
  }
  const of = (index: number, figure: (turn: Turn) => number): number => median((turns[index] ?? []).map(figure));
  const rate = ({ commands, wallMs }: Turn): number => (commands * 1000) / wallMs;
  const microsEach = ({ commands, redisMs }: Turn): number => (redisMs * 1000) / commands;
  const ratios = (index: number): number[] =>
    (turns[index] ?? []).map((turn, round) => rate(turn) / rate(turns[0]?.[round] ?? turn));
  findings.table(`one space, ${SESSIONS} sessions, each with a key of its own`, [
    [
      "servers",
      "a Redis call",
      "µs of Redis each",
      "Redis carries/s",
      "here/s",
      "÷ 1 server",
      "Redis busy",
      "load busy",
    ],
    ...COUNTS.map((count, i) => [
      `${count}`,
      of(i, ({ commands, scripts }) => commands / scripts),
      of(i, microsEach),
      1e6 / of(i, microsEach),
      of(i, rate),
      median(ratios(i)),
      percent(of(i, ({ redisMs, wallMs }) => redisMs / wallMs)),
      percent(of(i, ({ loadMs, wallMs }) => loadMs / wallMs)),
    ]),
  ]);
  findings.note(
    "Redis carries/s is computed: its one thread, busy with nothing else, at what a command costs it. How many there were here is for the cores that Redis, servers and load share: more servers bring more only where each has its own, and never more than that.",
  );
}

async function run({ meter }: Site, clients: readonly BenchClient[]): Promise<Turn> {
  let commands = 0;
  const cpu = process.cpuUsage();
  const spent = await meter.spent(async () => {
    const until = performance.now() + TURN_MS;
    await Promise.all(
      clients.map(async (client, index) => {
        while (performance.now() < until) {
          const held = await client.acquire(`own-${index}`, {});
          await held.release();
          commands += 2;
        }
      }),
    );
  });
  const { user, system } = process.cpuUsage(cpu);
  return { ...spent, commands, loadMs: (user + system) / 1000 };
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
