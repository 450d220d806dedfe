/**
 * Which core a process runs on. A scheduler that is left alone puts both ends of a hand-off now on one core, where each waits for
 * all that the other does, and now on two, where waking the other costs most: the same floor then takes 24 µs or 70, by luck.
 * So the server has the first core to itself, and load generators share the others.
 */

import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";

export type Role = "server" | "load";

/** The command on the cores of its role; unchanged where there is but one core, or no taskset. */
export function onCores(role: Role, command: readonly string[]): readonly string[] {
  const cores = availableParallelism();
  if (cores < 2 || !canPin()) return command;
  return ["taskset", "-c", role === "server" ? "0" : `1-${cores - 1}`, ...command];
}

/** Whether processes are kept on their cores: it belongs to the figures. */
export function arePinned(): boolean {
  return availableParallelism() > 1 && canPin();
}

function canPin(): boolean {
  try {
    execFileSync("taskset", ["-c", "0", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
