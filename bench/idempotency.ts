/**
 * What it costs that a request is carried out once: beside the same request without it, with a million finished records in
 * the store, and while expired ones are swept. Run: npm run bench:idempotency (Node, Bun and Deno), or one of them with another
 * number of records: node bench/idempotency.ts 100000. What is compared takes turns, so the ratios hold on a busy machine.
 */

import process from "node:process";
import { requestCosts } from "./idempotency/cost.ts";
import { recordCosts } from "./idempotency/records.ts";
import { runtimeName } from "./runtime.ts";

const COUNT_DEFAULT = 1_000_000;

console.log(`\n${runtimeName()}`);
await requestCosts();
await recordCosts(Number(process.argv[2] ?? COUNT_DEFAULT));
