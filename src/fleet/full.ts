/** What can still be done while Redis is full: whatever frees, renews or looks. Only what would stay is kept back. */

import type { Command } from "../core/index.ts";
import { SCRIPT } from "./lua/index.ts";
import type { FleetCall } from "./script.ts";

/** Runs although Redis is full, from Redis 7 on. An older one, or another one, may not take it; then all waits. */
export const SCRIPT_THAT_FREES: string = `#!lua flags=allow-oom\n${SCRIPT}`;

/** Whether nothing of this call stays in Redis. */
export function frees({ join, commands }: FleetCall): boolean {
  return join === undefined && !commands.some(adds);
}

/** Whoever comes first is first in either part; what is about something that is kept back is kept back as well. */
export function divided(commands: readonly Command[]): { readonly going: Command[]; readonly kept: Command[] } {
  const [going, kept]: [Command[], Command[]] = [[], []];
  const keptNames = new Set<string>();
  for (const command of commands) {
    const { session, request } = namesOf(command);
    const isKept = adds(command) || keptNames.has(session) || keptNames.has(request);
    (isKept ? kept : going).push(command);
    if (isKept) keptNames.add(command.kind === "open" ? session : request);
  }
  return { going, kept };
}

function adds(command: Command): boolean {
  switch (command.kind) {
    case "open":
    case "begin":
    case "complete":
    case "ask":
      return true;
    // Whoever holds the key already takes no more room.
    case "acquire":
      return command.token === undefined;
    default:
      return false;
  }
}

function namesOf(command: Command): { readonly session: string; readonly request: string } {
  const from = "from" in command ? command.from : "session" in command ? command.session : "";
  return { session: from, request: JSON.stringify([from, "request" in command ? command.request : ""]) };
}
