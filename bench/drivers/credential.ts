/**
 * Who the load generators are to a server that asks (`--url`). By the environment, which they inherit: the arguments of a program
 * are shown to everybody on its machine, and stand in what a run leaves.
 */

import { env } from "node:process";

/** Undefined: nobody in particular, as for the servers that the benchmark starts itself. */
export function credential(): string | undefined {
  return env["BENCH_CREDENTIAL"];
}
