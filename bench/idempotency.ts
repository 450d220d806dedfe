/**
 * What it costs that a request is carried out once: beside the same request without it, with a million finished records in
 * the store, and while expired ones are swept. What is compared takes turns, so the ratios hold on a busy machine.
 *
 *   npm run bench:idempotency                             # Node, Bun and Deno
 *   node bench/idempotency.ts 100000                      # one of them, with another number of records
 *   node bench/idempotency.ts --only sweep                # of: requests, records, sweep (sweep-memory, sweep-sqlite, sweep-left)
 */

import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { requestCosts } from "./idempotency/cost.ts";
import { besideRecords, sweepLeft, sweepMemory, sweepSqlite } from "./idempotency/records.ts";
import { runtimeName } from "./runtime.ts";

const COUNT_DEFAULT = 1_000_000;
const PARTS: Readonly<Record<string, (count: number) => Promise<void> | void>> = {
  requests: requestCosts,
  records: besideRecords,
  sweep: sweeps,
};
/** Each in a process of its own: what the one before has left for the collector is not its work. */
const SWEEPS: Readonly<Record<string, (count: number) => Promise<void>>> = {
  "sweep-memory": sweepMemory,
  "sweep-sqlite": sweepSqlite,
  "sweep-left": sweepLeft,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: "string", default: Object.keys(PARTS).join(",") } },
});
const known = { ...PARTS, ...SWEEPS };
const only = values.only.split(",");
const unknown = only.filter((name) => !(name in known));
if (unknown.length > 0) throw new Error(`--only ${unknown.join(",")}: of ${Object.keys(known).join(", ")}`);
if (only.some((name) => name in PARTS)) console.log(`\n${runtimeName()}`);
for (const [name, measure] of Object.entries(known)) {
  if (only.includes(name)) await measure(Number(positionals[0] ?? COUNT_DEFAULT));
}

function sweeps(count: number): void {
  const run = "Deno" in globalThis ? ["run", "-A", "--cached-only", "--no-remote"] : [];
  for (const name of Object.keys(SWEEPS)) {
    const args = [...run, fileURLToPath(import.meta.url), String(count), "--only", name];
    const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
    if (status !== 0) throw new Error(`${name} ended with ${status}`);
  }
}
