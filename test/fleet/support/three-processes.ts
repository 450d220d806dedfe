/** A story that is told by three processes: each session and each waiting caller belongs to the one that asked last for it. */

import type { Command } from "../../../src/core/index.ts";
import type { FleetEffect } from "../../../src/fleet/script.ts";
import { Random } from "../../simulation/random.ts";
import type { Step, Story } from "./stories.ts";

export const PROCESSES = ["one", "two", "three"] as const;
export type ProcessName = (typeof PROCESSES)[number];

export interface RoutedStep {
  readonly step: Step;
  readonly process: ProcessName;
  /** The engine's effects, each with the process that must hear it. */
  readonly told: readonly { readonly process: ProcessName; readonly effect: FleetEffect }[];
}

export function route({ options, steps }: Story): readonly RoutedStep[] {
  const random = new Random(options.seed);
  const routes = new Routes();
  return steps.map((step) => {
    const process = routes.processOf(step, random.pick([...PROCESSES]));
    return { step, process, told: routes.effects(step, process) };
  });
}

class Routes {
  readonly #sessions = new Map<string, ProcessName>();
  /** By who asks, request and what for. */
  readonly #callers = new Map<string, ProcessName>();

  processOf({ command, effects }: Step, any: ProcessName): ProcessName {
    if (command.kind === "resume" || command.kind === "open") return any;
    const session = "session" in command && typeof command.session === "string" ? command.session : undefined;
    if (command.kind === "drop" || command.kind === "bye") return this.#sessions.get(session ?? "") ?? any;
    if (!("from" in command)) return any;
    const about = command.kind === "ask" ? { ...command, request: command.claim } : command;
    const known = this.#sessions.get(command.from) ?? this.#callers.get(callerOf(about));
    if (known === undefined || !isAsking(command) || command.session) return known ?? any;
    // The same request on another process; not when something else is told under it as well, which is then for the one before.
    const isOneAnswer = effects.filter((effect) => isFor(effect, command)).length === 1;
    return isOneAnswer ? any : known;
  }

  effects({ command, effects }: Step, acting: ProcessName): RoutedStep["told"] {
    const isTaken = !effects.some((effect) => isFor(effect, command) && effect.kind === "refused");
    if (isAsking(command) && !command.session && isTaken) this.#callers.set(callerOf(command), acting);
    return effects.flatMap((effect) => {
      const before = this.#sessions.get(effect.to);
      if (effect.kind === "opened" || effect.kind === "resumed") this.#sessions.set(effect.to, acting);
      const told = { process: this.#hearer(effect, command, acting), effect };
      if (effect.kind !== "resumed" || before === undefined || before === acting) return [told];
      return [{ process: before, effect: { kind: "moved", to: effect.to } as const }, told];
    });
  }

  #hearer(effect: FleetEffect, command: Command, acting: ProcessName): ProcessName {
    if (effect.kind === "refused" || isFor(effect, command)) return acting;
    const caller = "request" in effect ? this.#callers.get(callerOf({ ...effect, from: effect.to })) : undefined;
    return this.#sessions.get(effect.to) ?? caller ?? acting;
  }
}

type Asking = Extract<Command, { kind: "acquire" | "begin" }>;

function isAsking(command: Command): command is Asking {
  return command.kind === "acquire" || command.kind === "begin";
}

function isFor(effect: FleetEffect, command: Command): boolean {
  if (!("from" in command && "request" in effect)) return false;
  if (effect.to !== command.from || effect.request !== command.request) return false;
  return (
    effect.kind === "refused" || !isAsking(command) || ABOUT_BEGINS.has(effect.kind) === (command.kind === "begin")
  );
}

const ABOUT_BEGINS: ReadonlySet<string> = new Set([
  "begin",
  "cancel_begin",
  "started",
  "replay",
  "in_progress",
  "attempt_queued",
  "failed",
  "attempt_lost",
]);

/** Request ids of begins are a space of their own. */
function callerOf(said: { readonly kind: string; readonly from: string; readonly request: string }): string {
  return JSON.stringify([said.from, said.request, ABOUT_BEGINS.has(said.kind)]);
}
