import type { Command } from "../../src/core/command.ts";
import type { Effect } from "../../src/core/effect.ts";
import type { SeenAttempt } from "./audit-ledger.ts";
import { demand } from "./failure.ts";

/** The running attempt that a command may end or extend. */
export function owned(command: Command | undefined, running: Iterable<SeenAttempt>): SeenAttempt | undefined {
  for (const attempt of running) if (command !== undefined && isOwner(command, attempt)) return attempt;
  return undefined;
}

function isOwner(command: Command, { key, attempt, asked }: SeenAttempt): boolean {
  switch (command.kind) {
    case "complete":
    case "fail":
    case "extend_attempt":
      return command.key === key && command.attempt === attempt;
    case "forget":
      return command.key === key && (command.attempt === undefined || command.attempt === attempt);
    case "cancel_begin":
      return command.from === asked.from && command.request === asked.request;
    default:
      return false;
  }
}

/** By what word this attempt ended in this step; undefined: by none. */
export function wordOf(
  command: Command | undefined,
  effects: readonly Effect[],
  attempt: SeenAttempt,
): "failed" | "forgotten" | undefined {
  if (command === undefined || !("request" in command) || owned(command, [attempt]) === undefined) return undefined;
  const word = command.kind === "forget" ? "forgotten" : "failed";
  const isSaid = effects.some(
    (effect) => effect.kind === word && effect.to === command.from && effect.request === command.request,
  );
  return isSaid ? word : undefined;
}

/** Exactly one answer per request, and the right one for whoever runs the work, or does not. Only for steps in which nothing was due. */
export function checkAnswered(command: Command, effects: readonly Effect[], own: SeenAttempt | undefined): void {
  const kinds = answersOf(command, own !== undefined);
  if (kinds === undefined || !("request" in command)) return;
  const mine = effects.filter((effect) => {
    const isMine = "request" in effect && effect.to === command.from && effect.request === command.request;
    return isMine && kinds.includes(effect.kind);
  });
  demand(mine.length === 1, "a request about a record got no answer, or several, or a wrong one", () => ({
    command,
    effects,
    own,
  }));
}

function answersOf(command: Command, isOwn: boolean): readonly Effect["kind"][] | undefined {
  switch (command.kind) {
    case "begin":
      return ["started", "replay", "in_progress", "attempt_queued", "refused"];
    case "complete":
      return isOwn ? ["completed"] : ["completed", "attempt_lost", "refused"];
    case "fail":
      return isOwn ? ["failed"] : ["attempt_lost", "refused"];
    case "extend_attempt":
      return isOwn ? ["attempt_extended"] : ["attempt_lost", "refused"];
    case "forget":
      return isOwn ? ["forgotten"] : ["forgotten", "attempt_lost", "refused"];
    case "cancel_begin":
      return isOwn ? ["failed"] : undefined;
    case "record_status":
      return ["record_status", "refused"];
    default:
      return undefined;
  }
}
