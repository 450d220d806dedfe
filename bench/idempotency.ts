/**
 * What it costs that a request is carried out once: beside the same request without it, with a million finished records in
 * the store, and while expired ones are swept. What is compared takes turns, so the ratios hold on a busy machine.
 *
 *   npm run bench:idempotency                             # Node, Bun and Deno
 *   node bench/idempotency.ts 100000                      # one of them, with another number of records
 *   node bench/idempotency.ts --only sweep                # of: requests, records, sweep
 */

import { parseArgs } from "node:util";
import { requestCosts } from "./idempotency/cost.ts";
import { besideRecords, sweeps } from "./idempotency/records.ts";
import { runtimeName } from "./runtime.ts";

const COUNT_DEFAULT = 1_000_000;
const PARTS: Readonly<Record<string, (count: number) => Promise<void>>> = {
  requests: requestCosts,
  records: besideRecords,
  sweep: sweeps,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: "string", default: Object.keys(PARTS).join(",") } },
});
const only = values.only.split(",");
const unknown = only.filter((name) => !(name in PARTS));
if (unknown.length > 0) throw new Error(`--only ${unknown.join(",")}: of ${Object.keys(PARTS).join(", ")}`);
console.log(`\n${runtimeName()}`);
for (const [name, measure] of Object.entries(PARTS)) {
  if (only.includes(name)) await measure(Number(positionals[0] ?? COUNT_DEFAULT));
}
