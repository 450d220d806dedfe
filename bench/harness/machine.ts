import { execFileSync } from "node:child_process";
import { cpus, loadavg, release, totalmem, type } from "node:os";
import { arePinned } from "../servers/cores.ts";
import { program, type RuntimeName } from "../servers/kinds.ts";
import type { Machine } from "./results.ts";

export function describeMachine(): Machine {
  return {
    processor: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryBytes: totalmem(),
    system: `${type()} ${release()}`,
    versions: {
      node: process.versions.node,
      bun: versionOf("bun"),
      deno: versionOf("deno"),
    },
    loadAtStart: loadavg()[0] ?? 0,
    pinned: arePinned(),
  };
}

/** Where the processes ran, in words. */
export function placing({ pinned }: Pick<Machine, "pinned">): string {
  return pinned ? "servers on the first core, load generators on the others" : "clients and servers share the cores";
}

/** Without what else it says of itself. */
function versionOf(runtime: RuntimeName): string {
  const line = firstLine(program(runtime)[0], "--version");
  return /\d+(\.\d+)+/.exec(line)?.[0] ?? line;
}

/** With a mark when the sources differ from it. */
export function commit(): string {
  const hash = firstLine("git", "rev-parse", "--short=12", "HEAD");
  const changed = firstLine("git", "status", "--porcelain", "--untracked-files=no");
  return changed === "" ? hash : `${hash} with changes`;
}

function firstLine(command = "", ...args: readonly string[]): string {
  try {
    const output = execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return output.split("\n")[0] ?? "";
  } catch {
    return "unknown";
  }
}
