/** From one process to another: beside what Redis' own publish and subscribe take, and with many in line beside few. */

import { createClient } from "redis";
import { httpClient } from "../../src/client/http.ts";
import { fleetProgram, fleetServers } from "../drivers/fleet.ts";
import { type Contender, openParty } from "./contenders.ts";
import type { Findings } from "./findings.ts";
import { Line } from "./line.ts";
import type { Site } from "./site.ts";
import { type Subject, takeTurns, timed, type Turns } from "./turns.ts";
import { Watch } from "./watch.ts";

const FEW = 10;
const MANY = 1000;
const BARE_RATIO_MAX = 2.5;
const MANY_RATIO_MAX = 2;
const COUNTED = 300;

export async function measureHandOffs(site: Site, turns: Turns, findings: Findings): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const servers: Contender = {
    name: "sessions on two servers",
    driver: fleetServers,
    url: site.serverUrls.slice(0, 2).join(" "),
  };
  const programs: Contender = { name: "two programs with fleet()", driver: fleetProgram, url: site.redisUrl };
  const lineOf = (contender: Contender, length: number): Promise<Line> =>
    openLine(stack, site, contender, length, findings);
  const few = await lineOf(servers, FEW);
  const lines = [few, await lineOf(programs, FEW)];
  const roundTrip = await openPubSub(stack, site);
  const asking = httpClient(site.serverUrls[0] ?? "");
  const bare: Subject = {
    name: "publish to a process, and back",
    once: async () => {
      // A line is asked for between hand-offs whether it stands again: what does not pause finds everybody awake.
      await asking.status("nobody's");
      return timed(roundTrip);
    },
  };
  const subjects = [servers, programs].map(({ name }, i) => ({ name, once: () => lines[i]!.handOff() }));
  const times = await takeTurns([bare, ...subjects], turns);
  findings.table("a hand-off from process to process", [
    ["", "µs", "÷ publish", "lowest–highest"],
    ...times.map(({ name, micros, ratio, ratioMin, ratioMax }) => [
      name,
      micros,
      ratio,
      `${ratioMin.toFixed(2)}–${ratioMax.toFixed(2)}`,
    ]),
  ]);
  findings.target("a hand-off from server to server ÷ publish and back", times[1]?.ratio ?? Number.NaN, BARE_RATIO_MAX);
  findings.note(
    "the two programs share the process of the benchmark: their figure is the work of both, and of HTTP between them and themselves",
  );

  const many = await lineOf(servers, MANY);
  await compareLengths(site, few, many, turns, findings);
}

async function compareLengths(site: Site, few: Line, many: Line, turns: Turns, findings: Findings): Promise<void> {
  const lines = [few, many];
  const names = [FEW, MANY].map((count) => `${count} in line`);
  const times = await takeTurns(
    lines.map((line, i) => ({ name: names[i] ?? "", once: () => line.handOff() })),
    turns,
  );
  const costs: number[] = [];
  for (const line of lines) {
    const { redisMs } = await site.meter.spent(() => line.handOffs(COUNTED));
    costs.push((redisMs * 1000) / COUNTED);
  }
  findings.table("a hand-off between sessions on two servers", [
    ["", "µs", `÷ ${FEW} in line`, "lowest–highest", "µs of Redis, with the acquire"],
    ...times.map(({ name, micros, ratio, ratioMin, ratioMax }, i) => [
      name,
      micros,
      ratio,
      `${ratioMin.toFixed(2)}–${ratioMax.toFixed(2)}`,
      costs[i] ?? 0,
    ]),
  ]);
  findings.target(`a hand-off with ${MANY} in line ÷ with ${FEW}`, times[1]?.ratio ?? Number.NaN, MANY_RATIO_MAX);
  findings.target(
    `Redis' time for it with ${MANY} in line ÷ with ${FEW}`,
    (costs[1] ?? 0) / (costs[0] ?? 0),
    MANY_RATIO_MAX,
  );
}

async function openLine(
  stack: AsyncDisposableStack,
  site: Site,
  contender: Contender,
  length: number,
  findings: Findings,
): Promise<Line> {
  const key = `${contender.name} ${length}`;
  const party = await openParty(contender, 2, new Watch(findings.violation));
  stack.defer(() => party.close());
  const asking = httpClient(site.serverUrls[0] ?? "");
  const line = new Line(party.clients, key, async () => (await asking.status(key)).waiting);
  await line.form(length);
  return line;
}

/** One text to another process and one back, over Redis and with nothing in between. */
async function openPubSub(stack: AsyncDisposableStack, { redisUrl, answerer }: Site): Promise<() => Promise<void>> {
  stack.defer(await answerer());
  const [asks, hears] = [createClient({ url: redisUrl }), createClient({ url: redisUrl })];
  for (const client of [asks, hears]) {
    await client.connect();
    stack.defer(() => client.destroy());
  }
  let heard: () => void = () => undefined;
  await hears.subscribe("back", () => heard());
  return () =>
    new Promise((resolve, reject) => {
      heard = resolve;
      asks.publish("there", "x").catch(reject);
    });
}
