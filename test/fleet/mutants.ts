/**
 * `npm run fleet:mutants`: plants one bug after the other in the script that serves a fleet, and tells it the engine's stories. Stories
 * that do not show a bug do not test what they claim.
 */

import process from "node:process";
import { Judge, LUA_MUTANTS, scriptWith } from "./mutants/judge.ts";
import { hasRedisServer, startRedisServer } from "./support/redis-server.ts";

await main();

async function main(): Promise<void> {
  for (const mutant of LUA_MUTANTS) scriptWith(mutant);
  if (!hasRedisServer()) return;
  const server = await startRedisServer();
  try {
    const judge = new Judge(server.url);
    // A script that fails by itself would seem to give every mutant away.
    const unchanged = await judge.judge(undefined);
    if (unchanged !== undefined) throw new Error(`the script fails without a bug being planted: ${unchanged}`);
    let survivors = 0;
    for (const mutant of LUA_MUTANTS) {
      const verdict = await judge.judge(mutant);
      if (verdict === undefined) survivors++;
      console.log(`${verdict === undefined ? "SURVIVED" : "caught  "} ${mutant.bug}`);
      console.log(`           ${verdict ?? "noticed nothing"}`);
    }
    console.log(`${LUA_MUTANTS.length - survivors} of ${LUA_MUTANTS.length} caught`);
    if (survivors > 0) process.exitCode = 1;
  } finally {
    await server.stop();
  }
}
