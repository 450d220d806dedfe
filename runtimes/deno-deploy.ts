/** What is particular to Deno Deploy. */

import type { LatchkeyOptions } from "../src/options.ts";

/** Deno Deploy answers with many processes, each with a disk of its own that ends with it: each would grant the same lock once. */
export function checkDeploy({ fleet }: LatchkeyOptions): void {
  if (!isOnDeploy() || fleet !== undefined) return;
  throw new Error(
    "Deno Deploy runs many processes, and in memory or SQLite each would keep locks of its own: set LOCK_ADAPTER=redis and where that is",
  );
}

export function isOnDeploy(): boolean {
  return ["DENO_DEPLOY", "DENO_DEPLOYMENT_ID"].some((variable) => {
    const mayAsk = Deno.permissions.querySync({ name: "env", variable }).state === "granted";
    return mayAsk && Deno.env.get(variable) !== undefined;
  });
}
