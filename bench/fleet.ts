/**
 * What a fleet costs: against a Redis of its own on a free port, all in one run and as ratios.
 *
 *   npm run bench:fleet                          # the figures, and which targets hold; exit 1 when two held at once
 *   npm run bench:fleet -- --runtime bun         # servers on Bun; default Node
 *   npm run bench:fleet -- --only pairs,peers    # of: pairs, hand-offs, servers, peers
 *   npm run bench:fleet -- --quick               # few turns
 *   npm run bench:fleet -- --capacity            # what one Redis carries, and when to move to a Cluster
 *   npm run bench:fleet -- --capacity --redis redis://host:6379    # that Redis, under keys of its own
 */

import process from "node:process";
import { parseArgs } from "node:util";
import { measureCapacity } from "./fleet/capacity.ts";
import { printFindings } from "./fleet/findings.ts";
import { measureHandOffs } from "./fleet/hand-off.ts";
import { measurePairs } from "./fleet/pair.ts";
import { measurePeers } from "./fleet/peers.ts";
import { measureServers } from "./fleet/servers.ts";
import { openSite } from "./fleet/site.ts";
import { commit, describeMachine } from "./harness/machine.ts";
import { RUNTIMES, type RuntimeName } from "./servers/kinds.ts";

const PARTS = { pairs: measurePairs, "hand-offs": measureHandOffs, servers: measureServers, peers: measurePeers };
const SERVERS = 4;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      runtime: { type: "string", default: "node" },
      only: { type: "string", default: Object.keys(PARTS).join(",") },
      quick: { type: "boolean", default: false },
      capacity: { type: "boolean", default: false },
      redis: { type: "string" },
    },
  });
  const runtime = RUNTIMES.find((name) => name === values.runtime) satisfies RuntimeName | undefined;
  if (runtime === undefined) throw new Error(`--runtime must be one of ${RUNTIMES.join(", ")}`);
  const findings = printFindings((line) => console.log(line));
  const { processor, cores, loadAtStart } = describeMachine();
  console.log(
    `commit ${commit()}; ${processor}, ${cores} cores (load ${loadAtStart.toFixed(1)}), loopback; servers on ${runtime}`,
  );
  if (values.capacity) {
    await measureCapacity(values.redis, findings);
    return 0;
  }
  const turns = values.quick ? { rounds: 2, operations: 20 } : { rounds: 9, operations: 60 };
  await using site = await openSite(runtime, SERVERS);
  console.log(`Redis ${await site.meter.version()}, without a disk`);
  for (const [name, measure] of Object.entries(PARTS)) {
    if (values.only.split(",").includes(name)) await measure(site, turns, findings);
  }
  const { violations, missed } = findings;
  console.log(`\n${violations.length} violations of mutual exclusion; targets that do not hold: ${missed.length}`);
  for (const rule of missed) console.log(`  ${rule}`);
  return violations.length === 0 ? 0 : 1;
}

process.exit(await main());
