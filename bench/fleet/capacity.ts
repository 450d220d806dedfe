/** How many spaces and sessions a Redis carries, and when it takes a Cluster. */

import { start, whyMissing } from "../servers/kinds.ts";
import { type Measured, measureCosts } from "./costs.ts";
import type { Cell, Findings } from "./findings.ts";
import { round } from "./findings.ts";
import { Meter } from "./meter.ts";
import { ASSUMED, carriedBy, type Load, mastersFor, scaled, spaceMax } from "./model.ts";

const LOADS: readonly Load[] = [
  load("documents: 5 editors each, a lock a minute, 1 in 10 waits", 5, 1 / 60, 0.1, 0, 1800),
  load("jobs: 20 workers each, a lock every 5 s, half wait, leases renewed", 20, 1 / 5, 0.5, 1 / 10, 86_400),
  load("busy: 100 sessions each, a lock a second, 1 in 5 waits", 100, 1, 0.2, 0, 3600),
];

/** Beside the Redis that was measured: one twice as fast, and one at half its speed. */
const SPEEDS = [1, 0.5, 2];
const MUCH = 10;

/** Without a `url` a Redis is started. */
export async function measureCapacity(url: string | undefined, findings: Findings): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const redisUrl = url ?? (await startRedis(stack));
  const meter = await Meter.open(redisUrl);
  stack.defer(() => meter.close());
  const costs = await measureCosts(redisUrl, meter);
  console.log(`Redis ${await meter.version()} at ${new URL(redisUrl).host}`);
  tellCosts(costs, findings);
  for (const factor of SPEEDS) tellCarried(costs, factor, findings);
  tellAssumptions(findings);
}

function tellCosts(costs: Measured, findings: Findings): void {
  const rows: readonly (readonly [string, number])[] = [
    ["a call that has nothing to do (slow poll)", costs.emptyMicros],
    ["  of that in the script, by commandstats", costs.emptyScriptMicros],
    ["acquire and release of a free key, two calls", costs.pairMicros],
    ["the same after a wait, granted by another process", costs.contendedMicros],
    ["a command among 32 in one call", costs.batchedMicros],
    ["a lease is extended", costs.renewalMicros],
    ["a lease ends by itself", costs.expiryMicros],
    ["a session begins and ends", costs.sessionMicros],
    ["a push that passes through another master of a Cluster", costs.pushMicros],
  ];
  findings.table("what it costs Redis, µs of its one thread", [["", "µs"], ...rows]);
  findings.note(
    `memory: ${kib(costs.sessionBytes)} a session with a lock, ${kib(costs.spaceBytes)} a space with one process`,
  );
}

function tellCarried(measured: Measured, factor: number, findings: Findings): void {
  const costs = scaled(measured, factor);
  const title =
    factor === 1 ? "this Redis" : factor < 1 ? `one ${1 / factor} times as fast` : `one at 1/${factor} of its speed`;
  const rows = LOADS.map((each): Cell[] => {
    const { spaces, sessions, pairsPerSecond, memoryBytes, pollShare } = carriedBy(costs, each);
    return [
      each.name,
      whole(spaces),
      whole(sessions),
      whole(pairsPerSecond),
      `${whole(memoryBytes / 2 ** 20)} MiB`,
      `${whole(pollShare * 100)} %`,
      whole(mastersFor(costs, each, spaces * MUCH)),
    ];
  });
  findings.table(`${title}: ${round(costs.emptyMicros)} µs for a call that has nothing to do`, [
    ["", "spaces", "sessions", "locks/s", "memory", "busy with polls", `masters for ${MUCH} × as much`],
    ...rows,
  ]);
  const together = (ASSUMED.busyMax * 1e6) / (2 * measured.batchedMicros * factor);
  findings.note(
    `one space, in a Cluster too: ${whole(spaceMax(costs, 0))} locks/s of free keys in calls of their own, ${whole(spaceMax(costs, 1))} if all wait, ${whole(together)} with 32 commands a call`,
  );
}

function tellAssumptions(findings: Findings): void {
  const { servers, pollsPerSecond, busyMax } = ASSUMED;
  findings.note("");
  for (const text of [
    `Redis' thread is busy for ${busyMax * 100} % at most; ${servers} servers, each with sessions in every space (or as many as it has sessions)`,
    `each of them polls each such space ${round(pollsPerSecond)} times a second (LOCK_RETRY_INTERVAL=1s), busy or not`,
    "every command comes in a call of its own: under load they come together, which costs less",
    "one locked key a session; no idempotency records, no AOF; heartbeats of sessions do not reach Redis",
    "in a Cluster spaces spread evenly, and each push passes through all masters",
  ]) {
    findings.note(text);
  }
}

function load(
  name: string,
  sessions: number,
  pairs: number,
  waitShare: number,
  renewals: number,
  lifeSeconds: number,
): Load {
  // One lease in a hundred is left to end by itself.
  return { name, sessions, pairs, waitShare, renewals, expiries: renewals / 100, lifeSeconds };
}

async function startRedis(stack: AsyncDisposableStack): Promise<string> {
  const missing = whyMissing("redis");
  if (missing !== undefined) throw new Error(missing);
  const redis = await start("redis");
  stack.defer(() => redis.stop());
  return redis.url;
}

function whole(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString("en").replaceAll(",", " ") : "none do";
}

function kib(bytes: number): string {
  return `${round(bytes / 1024)} KiB`;
}
