/** The runner of a whole suite of tests. */

import { afterAll, beforeAll } from "vitest";
import { type RedisServer, startRedisServer } from "./redis-server.ts";
import { openRunner, type ScriptRunner } from "./script-runner.ts";

/** A Redis of its own and a runner of the script there. Both begin and end with the suite. */
export function runnerOfSuite(): { readonly runner: ScriptRunner } {
  let server: RedisServer | undefined;
  let runner: ScriptRunner | undefined;

  beforeAll(async () => {
    server = await startRedisServer();
    runner = await openRunner(server.url);
  });

  afterAll(async () => {
    // When the start failed, what was started must end all the same.
    runner?.close();
    await server?.stop();
  });

  return {
    get runner() {
      if (runner === undefined) throw new Error("the suite has not begun");
      return runner;
    },
  };
}
